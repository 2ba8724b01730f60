package checkout

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/process"
)

// sh runs a script in a folder, with an identity for git and nothing of the machine's settings.
func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a repository of two commits in a folder whose name needs quoting.
func repository(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), `a "b" c'd:e`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `git init -q -b main .
		mkdir sub; echo one >file; echo in >sub/file; echo 'hidden export-ignore' >.gitattributes; echo h >hidden; echo ignored >.gitignore
		git add -A; git commit -qm first; git tag v1
		echo two >file; git commit -qam 'second "commit"'`)
	return dir
}

func open(t *testing.T, dir string) *Repository {
	t.Helper()
	r, err := Open(t.Context(), dir, filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// state is everything of a folder: names, contents, and times of change.
func state(t *testing.T, dir string) string {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if !strings.Contains(path, "/.git/objects/") { // git sets the time of an object that it would write again
			fmt.Fprintln(h, info.ModTime())
		}
		fmt.Fprintln(h, path, info.Mode(), len(text))
		h.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestRange(t *testing.T) {
	dir := repository(t)
	sh(t, dir, `git checkout -q -b topic HEAD~1; echo three >file; git commit -qam third; git update-ref refs/heads/-x HEAD`)
	first, second, third := sh(t, dir, "git rev-parse v1"), sh(t, dir, "git rev-parse main"), sh(t, dir, "git rev-parse topic")
	before, r := state(t, dir), open(t, dir)
	for text, want := range map[string][2]string{
		"main..topic":  {second, third},
		"main..":       {second, third},
		"..main":       {third, second},
		"main...topic": {first, third},
		"main...":      {first, third},
		"main":         {second, third}, // nothing is changed
		"v1..-x":       {first, third},
		"-x..main~1":   {third, first},
	} {
		from, to, err := r.Range(t.Context(), text)
		if err != nil || from.Hash != want[0] || to.Hash != want[1] {
			t.Errorf("%s: %s, %s, %v", text, from, to, err)
		}
	}
	for text, want := range map[string]string{"v1..topic": "topic", "main..topic": "main", "main...topic": "main", "main~1...topic": "main", "HEAD^..main": "topic", third + "..main": ""} {
		if from, _, err := r.Range(t.Context(), text); err != nil || from.Branch != want {
			t.Errorf("%s: base is on %q, %v", text, from.Branch, err)
		}
	}
	for text, want := range map[string]string{
		"":            "does not name two commits",
		"..":          "does not name two commits",
		"main..nope":  `git knows no commit "nope"`,
		"--all..main": `git knows no commit "--all"`,
		"main..a\nb":  "git knows no commit",
	} {
		if _, _, err := r.Range(t.Context(), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if c, err := r.Resolve(t.Context(), "-x"); err != nil || c.Branch != "-x" || c.Subject != "third" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := r.Resolve(t.Context(), second); err != nil || c.Branch != "" || c.String() != second[:10]+` (second "commit")` {
		t.Errorf("%s, branch %q, %v", c, c.Branch, err)
	}
	if state(t, dir) != before {
		t.Error("the repository has changed")
	}
}

// A merge is one step of the history, and so is the changed working tree.
func TestHistory(t *testing.T) {
	dir := repository(t)
	sh(t, dir, `git checkout -q -b side v1; echo a >a; git add a; git commit -qm side; git checkout -q main; git merge -q --no-ff -m 'a merge' side; echo new >n`)
	r := open(t, dir)
	from, to, err := r.Range(t.Context(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.History(t.Context(), from, to)
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	if list[0].Subject != `second "commit"` || list[0].Merge || list[1].Subject != "a merge" || !list[1].Merge || list[2] != to {
		t.Errorf("%+v", list)
	}
	for _, c := range list {
		if _, err := r.Build(t.Context(), c, "test -e file", time.Minute); err != nil {
			t.Error(err)
		}
	}
	if list, err := r.History(t.Context(), list[1], from); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// A build is made once, from all files of the commit, in the folder of the user; the repository stays
// as it is.
func TestBuild(t *testing.T) {
	dir := repository(t)
	t.Setenv("TAKT_BEARER", "tigerlily")
	t.Setenv("GIT_INDEX_FILE", "/nonexistent/index") // as in a hook
	before, r := state(t, dir), open(t, filepath.Join(dir, "sub"))
	c, err := r.Resolve(t.Context(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	const command = "pwd; git describe --tags; cat ../file ../hidden file; env; touch $((1+1)).made; mkdir ro; touch ro/x; chmod 500 ro"
	b, err := r.Build(t.Context(), c, command, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(b.Log)
	if !strings.HasPrefix(string(text), b.Folder+"\nv1\none\nh\nin\n") || strings.Contains(string(text), "tigerlily") || strings.Contains(string(text), "GIT_INDEX_FILE") {
		t.Errorf("the build said %s", text)
	}
	if _, err := os.Stat(filepath.Join(b.Folder, "2.made")); err != nil || b.Took == 0 {
		t.Error(err, b.Took)
	}
	again, err := r.Build(t.Context(), c, command, time.Minute) // while the first is in use
	if err != nil || again.Took != 0 || again.Folder != b.Folder {
		t.Errorf("%+v, %v", again, err)
	}
	other, err := r.Build(t.Context(), c, "true", time.Minute)
	if err != nil || other.Took == 0 || other.Folder == b.Folder {
		t.Errorf("%+v, %v", other, err)
	}
	if state(t, dir) != before {
		t.Error("the repository has changed")
	}
	if out := sh(t, dir, "unset GIT_INDEX_FILE; git worktree list | wc -l; git status --porcelain"); out != "1" {
		t.Errorf("git says %q", out)
	}
	place := filepath.Dir(filepath.Dir(b.Folder))
	if remove(place); !exists(b.Folder) {
		t.Error("a build in use was removed")
	}
	b.Close()
	again.Close()
	if remove(place); exists(place) { // also read-only folders
		t.Error("a build was not removed")
	}
}

func TestBuildFails(t *testing.T) {
	r := open(t, repository(t))
	c, err := r.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Build(t.Context(), c, "echo why; exit 7", time.Minute)
	var failed *BuildError
	if !errors.As(err, &failed) || len(failed.Tail) != 1 || failed.Tail[0].Text != "why" || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), failed.Log) {
		t.Fatalf("%v", err)
	}
	if _, err := r.Build(t.Context(), c, "echo why; exit 7", time.Minute); !errors.As(err, &failed) {
		t.Errorf("a failed build is in the cache: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Build(ctx, c, "sleep 600", time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	sub := open(t, sh(t, r.top, "mkdir -p new; cd new; pwd"))
	if _, err := sub.Build(t.Context(), c, "", time.Minute); err == nil || !strings.Contains(err.Error(), "has no folder new/") {
		t.Error(err)
	}
}

// A build that does not end is ended, with what it started and what does not listen to SIGTERM.
func TestBuildTimeout(t *testing.T) {
	r := open(t, repository(t))
	c, err := r.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Build(t.Context(), c, `echo begun; $(command -v setsid) sleep 600 & trap "" TERM; while :; do sleep 600; done`, time.Second)
	var failed *BuildError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "the build failed (not finished after 1s; raise --build-timeout, ") || len(failed.Tail) != 1 || failed.Tail[0].Text != "begun" {
		t.Fatalf("%v", err)
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, filepath.Dir(failed.Log)) {
			t.Errorf("%s lives on", filepath.Dir(link))
		}
	}
}

// The file of a build's output is limited, and a full disk does not stop the build.
func TestLogOfBuild(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	last := process.NewLog()
	to := tee{file: f, last: last, n: mostLog - 3}
	for _, text := range []string{"abcde\n", "fg\n"} {
		if n, err := to.Write([]byte(text)); n != len(text) || err != nil {
			t.Error(n, err)
		}
	}
	if text, _ := os.ReadFile(f.Name()); string(text) != "abc\n… takt writes no more than 64 MiB of the output\n" {
		t.Errorf("%q", text)
	}
	f.Close()
	to.n = 0
	if n, err := to.Write([]byte("h\n")); n != 2 || err != nil {
		t.Error(n, err)
	}
	if tail := last.Tail(9, ""); len(tail) != 3 || tail[0].Text != "abcde" {
		t.Errorf("%v", tail)
	}
}

// The cache keeps the builds that were used last.
func TestTrim(t *testing.T) {
	r := open(t, repository(t))
	c, err := r.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostBuilds + 3 {
		b, err := r.Build(t.Context(), c, fmt.Sprintf("echo %d", i), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
		old := time.Now().Add(time.Duration(i-1000) * time.Hour)
		if err := os.Chtimes(filepath.Join(filepath.Dir(b.Log), "lock"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(escaped(r.cache), "builds", "*"))
	if len(left) != mostBuilds {
		t.Errorf("%d builds are left", len(left))
	}
	if b, err := r.Build(t.Context(), c, fmt.Sprintf("echo %d", mostBuilds+2), time.Minute); err != nil || b.Took != 0 {
		t.Error("the newest build was removed", err)
	}
}

// The working tree is what git add would add: changed and new files, but no ignored ones.
func TestWorkingTree(t *testing.T) {
	dir := repository(t)
	sh(t, dir, "echo changed >file; echo new >'new file'; echo x >ignored; git rm -q --cached hidden; rm hidden")
	before, r := state(t, dir), open(t, dir)
	if !r.Changed(t.Context()) {
		t.Error("the working tree has not changed")
	}
	from, to, err := r.Range(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if to.Hash != from.Hash+"-dirty" || to.Branch != "main" || to.Date != from.Date || to.Short() != from.Short()+"-dirty" {
		t.Errorf("%+v", to)
	}
	b, err := r.Build(t.Context(), to, `ls; cat file "new file"`, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(b.Log); string(text) != "file\nnew file\nsub\nchanged\nnew\n" {
		t.Errorf("%s", text)
	}
	if state(t, dir) != before {
		t.Error("the repository has changed")
	}
}

func TestSubmodules(t *testing.T) {
	inner, outer := repository(t), repository(t)
	sh(t, outer, `git -c protocol.file.allow=always submodule add -q "`+strings.ReplaceAll(inner, `"`, `\"`)+`" "the module"; git commit -qm sub`)
	before, r := state(t, outer), open(t, outer)
	c, err := r.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Build(t.Context(), c, `cat "the module/file"`, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(b.Log); string(text) != "two\n" {
		t.Errorf("%s", text)
	}
	if state(t, outer) != before {
		t.Error("the repository has changed")
	}
}

// In a shallow clone the newest commit can be built, and an older one is named.
func TestShallow(t *testing.T) {
	dir := repository(t)
	sh(t, filepath.Dir(dir), `git clone -q --depth 1 "file://$PWD/`+strings.ReplaceAll(filepath.Base(dir), `"`, `\"`)+`" shallow`)
	r := open(t, filepath.Join(filepath.Dir(dir), "shallow"))
	c, err := r.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := r.Build(t.Context(), c, "test $(git log --oneline | wc -l) = 1; cat file", time.Minute); err != nil {
		t.Error(err)
	} else if text, _ := os.ReadFile(b.Log); string(text) != "two\n" {
		t.Errorf("%s", text)
	}
	if _, err := r.Resolve(t.Context(), "HEAD~1"); err == nil || !strings.Contains(err.Error(), "shallow clone") {
		t.Error(err)
	}
}

// A linked worktree, a bare repository and one with SHA-256 are repositories, too.
func TestKindsOfRepositories(t *testing.T) {
	dir := repository(t)
	parent := filepath.Dir(dir)
	sh(t, dir, "git worktree add -q ../linked v1; git clone -q --bare . ../bare.git; echo more >>../linked/file")
	sh(t, parent, `git init -q -b main --object-format=sha256 long; cd long; echo one >file; git add -A; git commit -qm 1; echo two >file; git commit -qam 2`)
	for name, test := range map[string]struct{ names, text string }{
		"linked":   {"HEAD", "one\nmore\n"}, // its own working tree and index
		"bare.git": {"v1..main", "two\n"},
		"long":     {"HEAD~1..", "two\n"},
	} {
		r := open(t, filepath.Join(parent, name))
		before := state(t, filepath.Join(parent, name))
		_, to, err := r.Range(t.Context(), test.names)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := r.Build(t.Context(), to, "cat file", time.Minute)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text, _ := os.ReadFile(b.Log); string(text) != test.text {
			t.Errorf("%s: %s", name, text)
		}
		if state(t, filepath.Join(parent, name)) != before {
			t.Errorf("%s: the repository has changed", name)
		}
	}
	if _, _, err := open(t, filepath.Join(parent, "bare.git")).Range(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "has no working tree") {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(t.Context(), t.TempDir(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not in a git repository") {
		t.Error(err)
	}
	dir := repository(t)
	t.Run("of another user", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can give a folder away")
		}
		sh(t, dir, "chown -R 12345 .")
		if _, err := Open(t.Context(), dir, t.TempDir()); err == nil || !strings.Contains(err.Error(), "safe.directory") {
			t.Error(err)
		}
	})
	t.Run("without git", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := Open(t.Context(), dir, t.TempDir()); err == nil || !strings.Contains(err.Error(), "git is not installed") {
			t.Error(err)
		}
	})
	t.Run("a cache that cannot be written", func(t *testing.T) {
		own := repository(t)
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(t.Context(), own, file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Resolve(t.Context(), "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Build(t.Context(), c, "", time.Minute); err == nil || !strings.Contains(err.Error(), "XDG_CACHE_HOME") {
			t.Error(err)
		}
	})
}

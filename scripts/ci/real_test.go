//go:build real

package ci_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// change is what the change of a pull request does to the example server of a language.
type change struct {
	name     string
	language string
	old, new string // in the source of the server
	shallow  bool   // the clone lacks the base
	flags    string // instead of those of the example
	verdict  string
	log      string // what the log of the job must have
}

// sure are flags with which 10 ms more are found on a busy machine, too.
const sure = "--duet --budget 1m --metric p50"

func changes() []change {
	return []change{
		{name: "slower-go", language: "go", old: "pause = 2", new: "pause = 12", verdict: "regressed", log: "| p50 |"},
		{name: "slower-java", language: "java", old: "PAUSE_MS = 2", new: "PAUSE_MS = 12", verdict: "regressed", log: "| p50 |"},
		{name: "slower-node", language: "node", old: "pause = 2", new: "pause = 12", verdict: "regressed", log: "| p50 |"},
		{name: "same", language: "go", old: "package main", new: "package main // the same", flags: sure + " --tolerance 100%", verdict: "ok", log: "| p50 |"},
		{name: "no-build", language: "go", old: "flag.Parse()", new: "flag.Parse(", verdict: "head does not run", log: "syntax error"},
		{name: "no-start", language: "go", old: "flag.Parse()", new: "panic(`no database`)", verdict: "head does not run", log: "panic: no database"},
		{name: "shallow", language: "go", shallow: true, verdict: "failed", log: "the clone has no commit"},
	}
}

// checkout is a clone in which the branch change is checked out, one commit after origin/main.
func (c change) checkout(t *testing.T) string {
	t.Helper()
	origin := newJob(t)
	files := filepath.Join(folder(t), "examples", c.language)
	if err := os.CopyFS(origin.dir, os.DirFS(files)); err != nil {
		t.Fatal(err)
	}
	origin.git("add", "-A")
	origin.git("commit", "-q", "-m", "a server")
	origin.git("checkout", "-q", "-b", "change")
	for _, name := range []string{"main.go", "Server.java", "server.js", "github.yml", "gitlab-ci.yml"} {
		path := filepath.Join(origin.dir, name)
		b, err := os.ReadFile(path)
		if err != nil {
			continue // of another language
		}
		b = bytes.ReplaceAll(b, []byte(c.old), []byte(c.new))
		b = regexp.MustCompile(`--duet .*`).ReplaceAll(b, []byte(cmp.Or(c.flags, sure)))
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	origin.git("add", "-A")
	origin.git("commit", "-q", "--allow-empty", "-m", "Keep sessions")
	clone := filepath.Join(origin.tmp, "clone")
	how := []string{"clone", "-q", "-b", "change", "file://" + origin.dir, clone}
	if c.shallow {
		how = slices.Insert(how, 1, "--depth", "1")
	}
	origin.git(how...)
	return clone
}

// local runs a program in a folder, for at most five minutes, and returns all that it writes.
func local(t *testing.T, dir string, words ...string) string {
	t.Helper()
	var out bytes.Buffer
	c := exec.Command(words[0], words[1:]...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &out
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TAKT_") }), "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+goEnv(t, "GOCACHE"), "VERIFY_TAKT=", program+"=")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(5*time.Minute, func() { _ = c.Process.Kill() })
	defer late.Stop()
	_ = c.Wait() // gitlab-ci-local ends with 0 where a job failed, so the output counts
	return regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(out.String(), "")
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// root is takt's own repository.
func root(t *testing.T) string { return filepath.Join(folder(t), "../..") }

// write writes a file, and the folders above it.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// judge checks the log of a job and the files that it leaves.
func (c change) judge(t *testing.T, log, results string) {
	t.Helper()
	for _, want := range []string{"### takt verify: " + c.verdict + "\n", "**" + c.verdict + "**", c.log} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	want := []string{"summary.md", "verify.xml"}
	if c.verdict == "ok" || c.verdict == "regressed" {
		want = append(want, "verify.html", "verify.json", "verify.md", "verify.log")
	}
	for _, name := range want {
		if info, err := os.Stat(filepath.Join(results, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// act runs the workflows of the examples, with the action of this repository. Steps that need GitHub
// itself, setup-java and upload-artifact, are local actions instead.
func TestRealAct(t *testing.T) {
	act := os.Getenv("TAKT_ACT")
	if act == "" {
		t.Skip("TAKT_ACT is the program act")
	}
	const composite = "name: x\ninputs:\n  distribution: {}\n  java-version: {}\n  name: {}\n  path: {}\n  if-no-files-found: {}\nruns:\n  using: composite\n  steps:\n    - shell: sh\n      run: "
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			dir, tmp := c.checkout(t), t.TempDir()
			results := filepath.Join(tmp, "results")
			write(t, filepath.Join(tmp, "java/action.yml"), composite+"java -version\n")
			write(t, filepath.Join(tmp, "upload/action.yml"), composite+"cp -R '${{ inputs.path }}' '"+results+"'\n")
			write(t, filepath.Join(tmp, "event.json"), `{"pull_request":{"base":{"ref":"main"},"head":{"ref":"change"}}}`)
			b, err := os.ReadFile(filepath.Join(dir, "github.yml"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, ".github/workflows/takt.yml"), string(b))
			log := local(t, dir, act, "pull_request", "-e", filepath.Join(tmp, "event.json"), "-P", "ubuntu-latest=-self-hosted", "--no-cache-server",
				"--local-repository", "taktload/takt@main="+root(t),
				"--local-repository", "actions/setup-java@v4="+filepath.Join(tmp, "java"), "--local-repository", "actions/upload-artifact@v4="+filepath.Join(tmp, "upload"))
			c.judge(t, log, results)
			if succeeded := strings.Contains(log, "Job succeeded"); succeeded != (c.verdict == "ok") {
				t.Errorf("succeeded: %v\n%s", succeeded, log)
			}
			if annotated := strings.Contains(log, "::error title=takt verify::"); annotated != (c.verdict != "ok") {
				t.Errorf("annotated: %v\n%s", annotated, log)
			}
			if c.shallow && !strings.Contains(log, "fetch-depth: 0") {
				t.Errorf("the message does not name the setting:\n%s", log)
			}
		})
	}
}

// gitlab-ci-local runs the jobs of the examples, with the gitlab.yml of this repository. takt comes from
// its last commit.
func TestRealGitLab(t *testing.T) {
	runner := os.Getenv("TAKT_GITLAB_CI_LOCAL")
	if runner == "" {
		t.Skip("TAKT_GITLAB_CI_LOCAL is the program gitlab-ci-local")
	}
	sources := newJob(t)
	sources.git("clone", "-q", "--depth", "1", "file://"+root(t), filepath.Join(sources.tmp, "takt"))
	sources.git("-C", filepath.Join(sources.tmp, "takt"), "checkout", "-q", "-B", "main")
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			dir := c.checkout(t)
			for from, to := range map[string]string{filepath.Join(folder(t), "gitlab.yml"): "takt.yml", filepath.Join(dir, "gitlab-ci.yml"): ".gitlab-ci.yml"} {
				b, err := os.ReadFile(from)
				if err != nil {
					t.Fatal(err)
				}
				b = regexp.MustCompile(`(?m)^  image: .*\n`).ReplaceAll(b, nil) // the jobs run on this machine
				write(t, filepath.Join(dir, to), regexp.MustCompile(`- remote: .*`).ReplaceAllString(string(b), "- local: takt.yml"))
			}
			j := &job{t: t, dir: dir, vars: sources.vars}
			base := strings.Repeat("1", 40)
			if !c.shallow {
				base = j.git("rev-parse", "origin/main")
			}
			j.git("remote", "set-url", "origin", "git@gitlab.example:shop/server.git")
			log := local(t, dir, runner, "--force-shell-executor", "--variable", "CI_PIPELINE_SOURCE=merge_request_event", "--variable", "CI_MERGE_REQUEST_DIFF_BASE_SHA="+base,
				"--variable", "VERIFY_SOURCE=file://"+filepath.Join(sources.tmp, "takt"), "--variable", "VERIFY_REF=main", "verify")
			c.judge(t, strings.ReplaceAll(log, "verify > ", ""), filepath.Join(dir, ".gitlab-ci-local/artifacts/verify/takt-results"))
			code := map[string]string{"ok": "", "regressed": "FAIL 4", "head does not run": "FAIL 8", "failed": "FAIL 2"}[c.verdict]
			if !strings.Contains(log, code) || code == "" && strings.Contains(log, "FAIL") {
				t.Errorf("want %q:\n%s", code, log)
			}
		})
	}
}

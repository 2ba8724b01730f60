package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// serverProgram is a server whose answers need the time that a commit sets.
const serverProgram = `package main

import (
	"net/http"
	"os"
	"time"
)

const answer = 20 * time.Millisecond

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { time.Sleep(answer) })
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
`

// commitsOf makes a repository with a commit for each script, which changes the one before. Its path
// needs quoting, and has a tag with the number of each commit.
func commitsOf(t *testing.T, scripts ...string) string {
	dir := filepath.Join(t.TempDir(), `my "server's" code`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "main.go"), serverProgram)
	write(t, filepath.Join(dir, "go.mod"), "module example.com/server\n\ngo 1.21\n")
	gitIn(t, dir, "git init -q -b main .; git add -A; git commit -qm start; git tag c0")
	for i, script := range scripts {
		gitIn(t, dir, script+"; git add -A; git commit -qm '"+strings.Fields(script)[0]+"'; git tag c"+string(rune('1'+i)))
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func gitIn(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// verifyGit runs takt verify in the repository, with a cache of the test.
func verifyGit(t *testing.T, dir string, args ...string) (code int, stderr string) {
	t.Helper()
	p := gitCommand(t, dir, args...)
	out, err := p.CombinedOutput()
	if err != nil && p.ProcessState == nil {
		t.Fatal(err)
	}
	noneBelow(t, filepath.Dir(dir))
	return p.ProcessState.ExitCode(), string(out)
}

// gitCommand is takt verify in the repository, with a cache of the test.
func gitCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	home := filepath.Dir(dir)
	p := exec.Command("takt", append([]string{"verify"}, args...)...)
	p.Dir = dir
	p.Env = append(os.Environ(), "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "GOFLAGS=-mod=mod", "GOPROXY=off",
		"GOCACHE="+gitIn(t, dir, "go env GOCACHE"), "TAKT_BEARER=tigerlily")
	return p
}

// noneBelow checks that no process works in a folder below dir.
func noneBelow(t *testing.T, dir string) {
	t.Helper()
	for _, p := range below(dir) {
		t.Errorf("%s works below %s", p, dir)
	}
}

// below lists the processes that work in a folder below dir.
func below(dir string) (list []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir) {
			list = append(list, filepath.Dir(link))
		}
	}
	return list
}

const (
	buildServer = "go build -o server ."
	runServer   = "exec ./server"
	portURL     = "http://127.0.0.1:{{.Port}}/"
)

// From two commits to a verdict: the slower one is found, by runs whose labels and settings let the
// history find them, and nothing in the repository changes.
func TestVerifyGit(t *testing.T) {
	if racetest.On {
		t.Skip("processes; they are tested without the race detector")
	}
	dir := commitsOf(t, "sed -i 's/20 \\*/80 */' main.go", "touch same; git checkout -q -b topic")
	before := gitIn(t, dir, "find . -type f ! -path './.git/objects/*' -newermt 1970-01-01 -printf '%p %T@ %s\\n' | sort")
	judgement := filepath.Join(filepath.Dir(dir), "j.json")
	load := []string{"--", "http", "-n", "6", "-c", "2", portURL}
	code, said := verifyGit(t, dir, append([]string{"--git", "c0..main", "--build", buildServer, "--run", runServer, "--pairs", "7", "--metric", "p50", "-o", "json=" + judgement}, load...)...)
	if code != 4 || !strings.Contains(said, "verify: head: main (") || !strings.Contains(said, "was built in") || !strings.Contains(said, "\nbase is c0: start\nhead is main: sed\n") {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	var j struct {
		Head        verify.Side
		Comparisons []struct{ Base verify.Side }
	}
	readJSON(t, judgement, &j)
	base, head := j.Comparisons[0].Base.Commit, j.Head.Commit
	if base.Hash != gitIn(t, dir, "git rev-parse c0") || head.Hash != gitIn(t, dir, "git rev-parse main") || head.Branch != "main" || head.Subject != "sed" {
		t.Errorf("%+v, %+v", base, head)
	}
	var r takt.Report
	show := exec.Command("takt", "show", j.Head.Runs[0], "-o", "json")
	show.Env = append(os.Environ(), "XDG_DATA_HOME="+filepath.Dir(dir), "XDG_STATE_HOME="+filepath.Dir(dir))
	text, err := show.Output()
	if err != nil || json.Unmarshal(text, &r) != nil {
		t.Fatal(err)
	}
	if r.Labels["revision"] != head.Hash || r.Labels["branch"] != "main" || r.Labels["revision_date"] != head.Date || r.Variables["host"] != "127.0.0.1:{{.Port}}" || r.Variables["server_run"] != runServer || r.Variables["server_start"] != "for each run" {
		t.Errorf("%v, %v", r.Labels, r.Variables)
	}
	if rss, ok := r.Extra["max_rss"].(float64); !ok || rss < 1<<20 {
		t.Errorf("%v", r.Extra)
	}
	if after := gitIn(t, dir, "find . -type f ! -path './.git/objects/*' -newermt 1970-01-01 -printf '%p %T@ %s\\n' | sort"); after != before {
		t.Errorf("the repository has changed:\n%s", after)
	}

	t.Run("the same", func(t *testing.T) {
		code, said := verifyGit(t, dir, append([]string{"--git", "main...topic", "--build", buildServer, "--run", runServer, "--pairs", "7", "--metric", "p50", "--tolerance", "200%", "--keep-running"}, load...)...)
		if code != 0 || !strings.Contains(said, "is built already") {
			t.Errorf("exit code %d\n%s", code, said)
		}
	})
	t.Run("the working tree, in a duet", func(t *testing.T) {
		gitIn(t, dir, "sed -i 's/80 \\*/2 */' main.go")
		code, said := verifyGit(t, dir, "--duet", "--git", "c0", "--build", buildServer, "--run", runServer, "--metric", "p50", "--budget", "7s", "--tolerance", "1000%", "--keep-running",
			"--", "http", "--rate", "200/s", "-z", "2s", portURL)
		if code != 0 && code != 5 && code != 6 || !strings.Contains(said, "verify: head: the working tree (") || code != 6 && !strings.Contains(said, "duet of") { // 5 and 6: the machine is busy
			t.Errorf("exit code %d\n%s", code, said)
		}
		gitIn(t, dir, "git checkout -q main.go")
	})
}

func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What is wrong with a commit ends the series: 7 if it is base, 8 if it is head.
func TestVerifyGitFails(t *testing.T) {
	if racetest.On {
		t.Skip("processes; they are tested without the race detector")
	}
	dir := commitsOf(t, "echo broken >>main.go", "git checkout -q c0 main.go; sed -i 's/^func main() {/&\\npanic(\"early\")/' main.go",
		"git checkout -q c0 main.go; sed -i 's/^func main() {/&\\nselect {}/' main.go",
		"git checkout -q c0 main.go; sed -i 's/time.Sleep(answer)/if r.Method == \"POST\" { os.Exit(9) }/' main.go",
		"echo crash >crash")
	gitIn(t, dir, "git update-ref refs/heads/-odd c5")
	for name, test := range map[string]struct {
		args []string
		code int
		said []string
	}{
		"head does not build":       {[]string{"--git", "c0..c1"}, 8, []string{"the end of the output of --build, at head c1 (", "./main.go:", "takt: head c1 (", "the build failed (exit status 1); its output is in /"}},
		"base does not build":       {[]string{"--git", "c1..c0"}, 7, []string{"takt: base c1 ("}},
		"head crashes":              {[]string{"--git", "c0..c2"}, 8, []string{"the end of the output of --run, at head", "panic: early", "the server ended by itself (exit status 2)"}},
		"head is never ready":       {[]string{"--git", "c0..c3", "--ready-timeout", "4s"}, 8, []string{"the server is not ready after 4s: ", "raise --ready-timeout"}},
		"base ends during the load": {[]string{"--git=c4..-odd", "--", "http", "-m", "POST", "-n", "20", "-c", "1", portURL}, 7, []string{"takt: base c4 (", "the server ended by itself (exit status 9)"}},
		"no such commit":            {[]string{"--git", "nope..c0"}, 2, []string{`takt: --git nope..c0: git knows no commit "nope"`}},
		"a run with a fault":        {[]string{"--git", "c0..c4", "--", "http", "--nope", portURL}, 2, []string{"unknown flag"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--build", buildServer, "--run", runServer, "--pairs", "1"}, test.args...)
			if !strings.Contains(strings.Join(test.args, " "), "-- http") {
				args = append(args, "--", "http", "-n", "2", "-c", "1", portURL)
			}
			code, said := verifyGit(t, dir, args...)
			if code != test.code {
				t.Errorf("exit code %d", code)
			}
			for _, want := range test.said {
				if !strings.Contains(said, want) {
					t.Errorf("%q is missing", want)
				}
			}
			if t.Failed() {
				t.Log(said)
			}
			if strings.Contains(said, "tigerlily") {
				t.Error("a secret is shown")
			}
		})
	}
}

// The first slower commit is found beside one that does not build and one that does not start.
func TestVerifyBisect(t *testing.T) {
	if racetest.On {
		t.Skip("processes; they are tested without the race detector")
	}
	dir := commitsOf(t, "touch 1", "echo broken >2.go", "rm 2.go; sed -i 's/20 \\*/80 */' main.go", "touch 4", "sed -i 's/^func main() {/&\\npanic(5)/' main.go", "sed -i /panic.5/d main.go", "touch 7")
	judgement := filepath.Join(filepath.Dir(dir), "j.json")
	code, said := verifyGit(t, dir, "--bisect", "--git", "c0..c7", "--build", buildServer, "--run", runServer, "--pairs", "7", "--metric", "p50", "-o", "json="+judgement,
		"--", "http", "-n", "6", "-c", "2", portURL)
	var j struct{ Bisect []verify.Culprit }
	readJSON(t, judgement, &j)
	if code != 4 || len(j.Bisect) != 1 || !j.Bisect[0].Found || len(j.Bisect[0].Commits) != 2 {
		t.Fatalf("exit code %d, %+v\n%s", code, j, said)
	}
	broken, slow := j.Bisect[0].Commits[0], j.Bisect[0].Commits[1]
	if broken.Hash != gitIn(t, dir, "git rev-parse c2") || !strings.Contains(broken.Skipped, "the build failed") || slow.Hash != gitIn(t, dir, "git rev-parse c3") || slow.Skipped != "" {
		t.Errorf("%+v\n%s", j, said)
	}
	if !strings.Contains(said, "  - p50: the first worse commit is ") {
		t.Error(said)
	}
}

// A bisection that Ctrl-C ends says which commits are left.
func TestVerifyBisectInterrupted(t *testing.T) {
	if racetest.On {
		t.Skip("processes; they are tested without the race detector")
	}
	dir := commitsOf(t, "touch 1", "touch 2", "sed -i 's/20 \\*/80 */' main.go", "touch 4", "touch 5")
	judgement := filepath.Join(filepath.Dir(dir), "j.json")
	p := gitCommand(t, dir, "--bisect", "--git", "c0..c5", "--build", buildServer, "--run", runServer, "--pairs", "7", "--metric", "p50", "--metric", "p90", "-o", "json="+judgement,
		"--", "http", "-n", "6", "-c", "2", portURL)
	out := watching{word: "0: pair 1: ", seen: make(chan struct{})} // of the search for p50 or p90
	p.Stdout, p.Stderr = &out, &out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-out.seen:
			_ = p.Process.Signal(os.Interrupt)
		case <-ended:
		}
	}()
	_ = p.Wait()
	close(ended)
	said := out.text.String()
	var j struct {
		Verdict     string
		Bisect      []verify.Culprit
		BisectEnded verify.BisectEnd `json:"bisect_ended"`
	}
	readJSON(t, judgement, &j)
	if p.ProcessState.ExitCode() != 130 || j.Verdict != "regressed" || j.BisectEnded != verify.BisectInterrupted || len(j.Bisect) != 1 || j.Bisect[0].Found || len(j.Bisect[0].Commits) < 2 || j.Bisect[0].Chance < 0.9 {
		t.Fatalf("exit code %d, %+v\n%s", p.ProcessState.ExitCode(), j, said)
	}
	for _, want := range []string{"; bisection: interrupted\n", "ended after ", ": not searched", "takt: stopped by SIGINT in the bisection; the judgement says which commits are left"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	noneBelow(t, filepath.Dir(dir))
}

// watching keeps a text, and closes seen at the first word in it.
type watching struct {
	text strings.Builder
	word string
	seen chan struct{}
	done bool
}

func (w *watching) Write(p []byte) (int, error) {
	w.text.Write(p)
	if !w.done && strings.Contains(w.text.String(), w.word) {
		w.done = true
		close(w.seen)
	}
	return len(p), nil
}

// If takt is killed, nothing of its server and of its build lives on, not even what left their groups.
func TestVerifyGitKilled(t *testing.T) {
	if racetest.On {
		t.Skip("processes; they are tested without the race detector")
	}
	if runtime.GOOS != "linux" {
		t.Skip("takt knows the processes of a server only on Linux")
	}
	dir := commitsOf(t, "touch 1")
	began := filepath.Join(filepath.Dir(dir), "began")
	leave := "setsid sleep 600 & sleep 600 & trap '' TERM; touch '" + began + "'; sleep 600"
	for name, args := range map[string][]string{
		"server": {"--run", leave},
		"build":  {"--build", leave, "--run", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			p := exec.Command("takt", append(append([]string{"verify", "--git", "c0..c1", "--pairs", "1"}, args...), "--", "http", "-n", "1", "-c", "1", portURL)...)
			p.Dir, p.Env = dir, append(os.Environ(), "XDG_CACHE_HOME="+filepath.Dir(dir))
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, "the program", func() bool { _, err := os.Stat(began); return err == nil })
			if len(below(filepath.Dir(dir))) < 3 {
				t.Error("there are too few processes to prove anything")
			}
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = p.Wait()
			await(t, "the end of its processes", func() bool { return len(below(filepath.Dir(dir))) == 0 })
			if err := os.Remove(began); err != nil {
				t.Error(err)
			}
		})
	}
}

// --server-cpus gives the servers their CPUs, and takt the others.
func TestVerifyGitCPUs(t *testing.T) {
	if racetest.On {
		t.Skip("processes; they are tested without the race detector")
	}
	all := slices.Concat(proc.Cores()...)
	if len(all) < 2 {
		t.Skip("takt may use only one CPU")
	}
	slices.Sort(all)
	dir := commitsOf(t, "touch 1")
	rest, last := proc.CPUList(all[:len(all)-1]), proc.CPUList(all[len(all)-1:])
	judgement := filepath.Join(filepath.Dir(dir), "j.json")
	for cpus, want := range map[string]string{
		last:              "verify: the servers use the CPUs " + last + ", and takt the CPUs " + rest + "\n",
		proc.CPUList(all): "verify: the servers use the CPUs " + proc.CPUList(all) + ", and takt may use no other CPU, so both share them\n",
	} {
		_, said := verifyGit(t, dir, "--git", "c0..c1", "--build", buildServer, "--run", "grep Cpus_allowed_list /proc/self/status >&2; exec ./server", "--server-cpus", cpus, "--pairs", "1", "-o", "json="+judgement,
			"--", "http", "-n", "6", "-c", "2", portURL)
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
		var j struct{ Head verify.Side }
		readJSON(t, judgement, &j)
		var r takt.Report
		show := gitCommand(t, dir)
		show.Args = []string{"takt", "show", j.Head.Runs[0], "-o", "json"}
		text, err := show.Output()
		if err != nil || json.Unmarshal(text, &r) != nil {
			t.Fatal(err)
		}
		if kept, ok := r.Variables["generator_cpus"]; r.Variables["server_cpus"] != cpus || ok != (cpus == last) || ok && kept != rest {
			t.Errorf("%v", r.Variables)
		}
	}
}

// await waits until something is true.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// The flags of --git that do not go together are named at once.
func TestVerifyGitFlags(t *testing.T) {
	dir := commitsOf(t)
	for _, test := range []struct {
		args []string
		said string
	}{
		{[]string{"--git", "c0..", "--base", "http://a/", "--head", "http://b/", "--run", "x", "--", "http", "-n", "1", portURL}, "--git names both sides"},
		{[]string{"--git", "c0..", "--", "http", "-n", "1", portURL}, "--git needs --run"},
		{[]string{"--git", "c0..", "--run", "x"}, "--git needs the load after --"},
		{[]string{"--git", "c0..", "--run", "x", "--", "http", "-n", "1", "http://127.0.0.1:80/"}, "neither the load nor --ready has {{.Port}}"},
		{[]string{"--git", "c0..", "--run", "x", "--ready", "tcp:a:1", "--duet", "--", "http", "--rate", "500/s", "-z", "5s", "http://127.0.0.1:80/"}, "both servers run at the same time"},
		{[]string{"--git", "c0..", "--run", "x", "--ready", "udp", "--", "http", "-n", "1", portURL}, `bad --ready "udp"`},
		{[]string{"--git", "c0..", "--run", "x", "--bisect", "--duet", "--", "http", "--rate", "500/s", "-z", "5s", portURL}, "--bisect compares runs"},
		{[]string{"--git", "c0..", "--run", "x", "--bisect", "--bisect-pairs", "0", "--", "http", "-n", "1", portURL}, "bad --bisect-pairs 0"},
		{[]string{"--git", "c0..", "--run", "x", "--server-cpus", "3-1", "--", "http", "-n", "1", portURL}, `"3-1" is not a list of CPUs`},
		{[]string{"--build", "x"}, "--build is for --git"},
		{[]string{"--git", "c0..", "--run", "x", "--build", "exit 1", "--", "http", "--nope", portURL}, "after --: unknown flag --nope"},
		{[]string{"--git", "c0..", "--run", "x", "--build", "exit 1", "--", "http", "-n", "1", "--shard", "1/2", portURL}, "--shard makes only a part of a run"},
		{[]string{"--git", "c0..", "--run", "x", "--build", "exit 1", "--", "http", "-n", "1", portURL}, "shard is 1/2 by TAKT_SHARD"},
	} {
		if strings.Contains(test.said, "TAKT_SHARD") {
			t.Setenv("TAKT_SHARD", "1/2")
		}
		if code, said := verifyGit(t, dir, test.args...); code != 2 || !strings.Contains(said, test.said) {
			t.Errorf("%q: exit code %d, %s", test.args, code, said)
		}
	}
}

// Costs are measured where takt starts both servers, in pairs and in a duet: a commit that allocates 2 objects more in
// each answer is named, however noisy the times are, and decides nothing.
func TestVerifyGitCosts(t *testing.T) {
	if racetest.On {
		t.Skip("processes; they are tested without the race detector")
	}
	dir := commitsOf(t, `printf 'package main\n\nimport _ "expvar"\n\nvar kept [9][]byte\n' > vars.go; sed -i 's|time.Sleep(answer)|for i := range kept[:10-9] { kept[i] = make([]byte, 300) }|; s/^const answer.*/var _ = time.Second/' main.go`,
		"sed -i 's/10-9/10-1/' main.go")
	for _, test := range []struct {
		name string
		args []string
		load string
	}{
		{"pairs", []string{"--pairs", "9"}, "-n 300 -c 1"},
		{"a duet", []string{"--duet", "--budget", "40s"}, "--rate 200/s -z 2s"},
	} {
		judgement := filepath.Join(filepath.Dir(dir), "costs.json")
		args := append([]string{"--git", "c1..c2", "--build", buildServer, "--run", runServer, "--tolerance", "1000%", "--error-tolerance", "100%", "--metric", "rate", "-o", "text=-", "-o", "json=" + judgement}, test.args...)
		code, said := verifyGit(t, dir, append(append(args, "--", "http"), append(strings.Fields(test.load), portURL)...)...)
		type figure struct {
			Metric     string
			Base, Head float64
		}
		var j struct {
			Verdict     verify.Word
			Comparisons []struct{ Costs, Changes []figure }
		}
		readJSON(t, judgement, &j)
		if len(j.Comparisons) != 1 {
			t.Fatalf("%s: exit code %d\n%s", test.name, code, said)
		}
		measured := map[string]figure{}
		for _, f := range j.Comparisons[0].Costs {
			measured[f.Metric] = f
		}
		for _, metric := range []string{"max_rss", "server_cpu", "server_switches", "server_allocs", "server_alloc_bytes"} {
			if f := measured[metric]; !(f.Base > 0 && f.Head > 0) {
				t.Errorf("%s: %s is %v and %v\n%s", test.name, metric, f.Base, f.Head, said)
			}
		}
		allocs := measured["server_allocs"]
		if d := allocs.Head - allocs.Base; d < 6 || d > 10 || j.Verdict == verify.Regressed {
			t.Errorf("%s: %s, allocations %v and %v; head makes 8 more", test.name, j.Verdict, allocs.Base, allocs.Head)
		}
		if !slices.ContainsFunc(j.Comparisons[0].Changes, func(c figure) bool { return c.Metric == "server_allocs" }) ||
			!strings.Contains(said, "; costs: ") || !strings.Contains(said, "allocations a request ") {
			t.Errorf("%s: not proven: %+v\n%s", test.name, j.Comparisons[0].Changes, said)
		}
	}
}

// The profiles of both servers name the function that a commit makes slower, and that the commit touches it. Without a
// profile the judgement says why.
func TestVerifyGitProfile(t *testing.T) {
	if racetest.On {
		t.Skip("processes; they are tested without the race detector")
	}
	dir := commitsOf(t,
		`printf 'package main\n\nimport _ "net/http/pprof"\n\nfunc turn(n, times int) int {\n\tfor range times {\n\t\tn = n*31 + times\n\t}\n\treturn n\n}\n\nfunc quick(n int) int {\n\treturn turn(n, 200000)\n}\n\nfunc slow(n int) int {\n\tfor range 200000 {\n\t\tn = n*31 + 7\n\t}\n\treturn n\n}\n' > work.go; sed -i 's/time.Sleep(answer)/if quick(1)+slow(2) == 3 { time.Sleep(answer) }/' main.go; sed -i 's/go 1.21/go 1.22/' go.mod`,
		"sed -i 's/for range 200000/for range 2000000/' work.go")
	args := func(commits string) []string {
		return []string{"--git", commits, "--build", buildServer, "--run", runServer, "--pairs", "1", "--metric", "p50", "--profile", "auto", "--profile-pairs", "8",
			"-o", "text=-", "-o", "json=" + filepath.Join(filepath.Dir(dir), "profile.json"), "--", "http", "-c", "1", "-z", "1s", portURL}
	}
	_, said := verifyGit(t, dir, args("c1..c2")...)
	var j struct {
		Functions struct {
			Functions []struct {
				Name, Word string
				Touched    bool
				Base_us    float64
				Head_us    float64
			}
		}
	}
	readJSON(t, filepath.Join(filepath.Dir(dir), "profile.json"), &j)
	list := j.Functions.Functions
	if len(list) == 0 || list[0].Name != "main.slow" || list[0].Word != "slower" || !list[0].Touched || !(list[0].Base_us > 0 && list[0].Head_us > 4*list[0].Base_us) || !strings.Contains(said, "functions: main.slow needs ") {
		t.Errorf("%+v\n%s", list, said)
	}
	for _, f := range list[min(1, len(list)):] {
		if f.Touched {
			t.Errorf("%s is not touched", f.Name)
		}
	}
	code, said := verifyGit(t, dir, args("c0..c2")...)
	if code != 5 || !strings.Contains(said, "no functions, because a profile is missing: base c0") { // c0 answers every path with nothing
		t.Errorf("exit code %d\n%s", code, said)
	}
}

// A command takes the profile of each run. Here the commits have the stacks that it writes. What is wrong with a
// command is said, and the verdict is that of the runs without profiles.
func TestVerifyGitProfileBy(t *testing.T) {
	if racetest.On {
		t.Skip("processes; they are tested without the race detector")
	}
	dir := commitsOf(t,
		`printf 'def quick(n):\n    return n\n\ndef slow(n):\n    return n\n' >work.py; printf '%s\n' 'serve (/usr/lib/python3/socketserver.py:1);quick (work.py:2) 99' 'slow (work.py:5) 1' >stacks`,
		`sed -i '5s/n/n+0/' work.py; printf '%s\n' 'quick (work.py:2) 1' 'slow (work.py:5);dumps (json/encoder.py:9) 99' >stacks`)
	judgement := filepath.Join(filepath.Dir(dir), "profile.json")
	args := func(profile string, pairs string) []string {
		return []string{"--git", "c1..c2", "--build", buildServer, "--run", runServer, "--pairs", "1", "--metric", "p50", "--profile", profile, "--profile-pairs", pairs,
			"-o", "text=-", "-o", "json=" + judgement, "--", "http", "-c", "1", "-z", "200ms", portURL}
	}
	code, said := verifyGit(t, dir, args("test {{.Pid}} -gt 1 && test {{.Seconds}} = 1 && cp stacks {{.File}}", "8")...)
	var j struct {
		Functions *functions.Result
	}
	readJSON(t, judgement, &j)
	if j.Functions == nil || len(j.Functions.Functions) != 2 || code != 5 {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	slow, quick := j.Functions.Functions[0], j.Functions.Functions[1]
	if slow.Name != "slow (work.py)" || slow.Word != functions.Slower || !slow.Touched || !(slow.HeadShare > 0.98 && slow.Head > slow.Base) {
		t.Errorf("%+v\n%s", slow, said)
	}
	if quick.Name != "quick (work.py)" || quick.Touched || !(quick.Base > 0) {
		t.Errorf("%+v", quick)
	}
	for command, want := range map[string]string{
		"echo no ptrace >&2; exit 3; : {{.File}}":     "the command of --profile ended with exit status 3; its last line: no ptrace",
		"echo Permission denied >{{.File}}":           `line 1 of the profile is no stack such as "main;work 12": "Permission denied"`,
		"echo 'cron (/other/cron.py:1) 5' >{{.File}}": "no function of the profile is in a file of the commit",
		"echo '# nothing' >{{.File}}":                 "the profile has no samples",
	} {
		code, said := verifyGit(t, dir, args(command, "1")...)
		if told := strings.Join(strings.Fields(said), " "); code != 5 || !strings.Contains(told, "no functions, because a profile is missing: base c1") || !strings.Contains(told, want) {
			t.Errorf("%s: exit code %d, want %q\n%s", command, code, want, said)
		}
	}
}

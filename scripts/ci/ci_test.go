package ci_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/stop"
)

// program is the variable that makes this test binary a program: takt, or a takt that only says what it was given.
const program = "CI_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(program) {
	case "":
		os.Exit(m.Run())
	case "takt":
		interrupt, abort := core.Signals(stop.Catch())
		os.Exit(cli.Main(core.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Interrupt: interrupt, Abort: abort}, os.Args[1:]))
	}
	os.Exit(fake())
}

// fake writes its arguments to FAKE_ARGS, FAKE_STDERR to standard error, and outputs as takt does if its exit
// code FAKE_CODE is that of a judgement.
func fake() int {
	b, err := json.Marshal(os.Args[1:])
	if err == nil {
		err = os.WriteFile(os.Getenv("FAKE_ARGS"), b, 0o644)
	}
	if err != nil {
		panic(err)
	}
	os.Stderr.WriteString(os.Getenv("FAKE_STDERR"))
	if path := os.Getenv("FAKE_WAITS"); path != "" {
		return cancelled(path)
	}
	code, _ := strconv.Atoi(os.Getenv("FAKE_CODE"))
	golden := cmp.Or(os.Getenv("FAKE_JUDGED"), map[int]string{0: "ok", 4: "regressed", 5: "inconclusive"}[code])
	for i, word := range os.Args {
		if kind, path, _ := strings.Cut(word, "="); os.Args[max(0, i-1)] == "-o" && path != "" && golden != "" {
			text := []byte(kind)
			if kind == "markdown" {
				text, _ = os.ReadFile(filepath.Join(os.Getenv("FAKE_GOLDEN"), golden+".markdown"))
				text = bytes.Replace(text, []byte("\n\n|"), []byte("\n\nbase is 8e2cf51: one\n\nhead is HEAD: two \\| three\n\n|"), 1)
			}
			_ = os.WriteFile(path, text, 0o644)
		}
	}
	return code
}

// cancelled writes its process id to a file, waits for SIGTERM, and ends as takt does.
func cancelled(path string) int {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	if err := os.WriteFile(path+".new", []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		panic(err)
	}
	<-told
	os.Stderr.WriteString("takt: SIGTERM received\n")
	return 143
}

// job is a job of a CI system: a repository, and the variables of the system.
type job struct {
	t    *testing.T
	dir  string // the checkout
	tmp  string // where files of the system are
	vars map[string]string
	// started has the program that run has started.
	started chan *os.Process
}

// outcome is what the job did.
type outcome struct {
	code        int
	out, errs   string
	args        []string // of takt
	summary     string   // GITHUB_STEP_SUMMARY
	output      string   // GITHUB_OUTPUT
	summaryFile string
	junit       string // verify.xml
}

// folder is scripts/ci.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newJob is a job in a repository with three commits, in a folder whose name has spaces.
func newJob(t *testing.T) *job {
	t.Helper()
	for _, need := range []string{"sh", "git", "awk", "xargs", "mkfifo"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("needs %s", need)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	j := &job{t: t, started: make(chan *os.Process, 1), dir: filepath.Join(tmp, "a check out $(touch pwned)"), tmp: tmp, vars: map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": tmp, "TMPDIR": tmp, program: "fake", "FAKE_CODE": "0", "FAKE_ARGS": filepath.Join(tmp, "args"),
		"FAKE_GOLDEN": filepath.Join(folder(t), "../../internal/format/testdata/judgement"), "VERIFY_TAKT": self,
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"VERIFY_RUN": "./server -port {{.Port}}", "VERIFY_LOAD": "http --rate 500/s -z 5s 'http://127.0.0.1:{{.Port}}/'",
	}}
	if err := os.Mkdir(j.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	j.git("init", "-q", "-b", "main")
	for _, name := range []string{"one", "two", "three"} {
		j.git("commit", "-q", "--allow-empty", "-m", name)
	}
	j.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
	return j
}

func (j *job) git(args ...string) string {
	j.t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", j.dir}, args...)...)
	c.Env = j.environ()
	out, err := c.CombinedOutput()
	if err != nil {
		j.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (j *job) environ() (list []string) {
	for name, value := range j.vars {
		list = append(list, name+"="+value)
	}
	return list
}

// github, gitlab and jenkins set the variables of the systems.
func (j *job) github() *job {
	return j.set("GITHUB_ACTIONS", "true", "GITHUB_BASE_REF", "main", "GITHUB_REPOSITORY", "o/r", "GITHUB_WORKFLOW_REF", "o/r/.github/workflows/ci.yml@refs/pull/1/merge",
		"GITHUB_STEP_SUMMARY", filepath.Join(j.tmp, "summary"), "GITHUB_OUTPUT", filepath.Join(j.tmp, "output"), "GITHUB_ACTION_PATH", filepath.Join(folder(j.t), "action"), "RUNNER_TEMP", j.tmp,
		"PR_TITLE", "$(touch pwned) `touch pwned`; touch pwned")
}

func (j *job) gitlab() *job {
	return j.set("GITLAB_CI", "true", "CI_MERGE_REQUEST_DIFF_BASE_SHA", j.git("rev-parse", "HEAD~1"), "CI_MERGE_REQUEST_TITLE", "$(touch pwned)")
}

func (j *job) jenkins() *job {
	return j.set("JENKINS_URL", "http://ci/", "CHANGE_TARGET", "main", "CHANGE_TITLE", "$(touch pwned)", "WORKSPACE_TMP", j.tmp)
}

func (j *job) set(pairs ...string) *job {
	for i := 0; i < len(pairs); i += 2 {
		j.vars[pairs[i]] = pairs[i+1]
	}
	return j
}

// run runs a program in the checkout.
func (j *job) run(words ...string) (o outcome) {
	j.t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(words[0], words[1:]...)
	c.Dir, c.Env, c.Stdout, c.Stderr = j.dir, j.environ(), &out, &errs
	err := c.Start()
	if err == nil {
		j.started <- c.Process
		err = c.Wait()
		select {
		case <-j.started:
		default: // the test has it
		}
	}
	if err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			j.t.Fatal(err)
		}
		o.code = exit.ExitCode()
	}
	o.out, o.errs = out.String(), errs.String()
	if b, err := os.ReadFile(j.vars["FAKE_ARGS"]); err == nil {
		if err := json.Unmarshal(b, &o.args); err != nil {
			j.t.Fatal(err)
		}
	}
	o.summary, o.output = j.read(j.vars["GITHUB_STEP_SUMMARY"]), j.read(j.vars["GITHUB_OUTPUT"])
	o.summaryFile = j.read(filepath.Join(j.dir, "takt-results/summary.md"))
	o.junit = j.read(filepath.Join(j.dir, "takt-results/verify.xml"))
	_ = filepath.WalkDir(j.tmp, func(path string, _ os.DirEntry, _ error) error {
		if filepath.Base(path) == "pwned" {
			j.t.Errorf("a text of the pull request was run: %s exists", path)
		}
		return nil
	})
	return o
}

func (j *job) read(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// script runs takt-verify itself.
func (j *job) script(args ...string) outcome {
	j.t.Helper()
	shell := strings.Fields(cmp.Or(os.Getenv("CI_TEST_SHELL"), "sh")) // such as busybox sh
	return j.run(slices.Concat(shell, []string{filepath.Join(folder(j.t), "takt-verify")}, args)...)
}

// after are the arguments of takt behind its outputs.
func (o outcome) after() []string {
	i := slices.IndexFunc(o.args, func(w string) bool { return strings.HasPrefix(w, "html=") })
	return o.args[i+1:]
}

func TestArguments(t *testing.T) {
	load := []string{"--", "http", "--rate", "500/s", "-z", "5s", "http://127.0.0.1:{{.Port}}/"}
	for _, c := range []struct {
		name string
		job  func(*job) *job
		args []string
		want []string
	}{
		{"github", (*job).github, nil, []string{"--git=origin/main...HEAD", "--run=./server -port {{.Port}}"}},
		{"gitlab", (*job).gitlab, nil, []string{"--git=BASE..HEAD", "--run=./server -port {{.Port}}"}},
		{"jenkins", (*job).jenkins, nil, []string{"--git=origin/main...HEAD", "--run=./server -port {{.Port}}"}},
		{"none", func(j *job) *job { return j }, nil, []string{"--git=HEAD~1..HEAD", "--run=./server -port {{.Port}}"}},
		{"all", func(j *job) *job {
			return j.set("VERIFY_GIT", "main~2..main", "VERIFY_BUILD", "make \"a b\" && $(touch pwned)", "VERIFY_READY", "log:up", "VERIFY_FLAGS", " --pairs 8\n --vary 'a b' ")
		}, nil, []string{"--git=main~2..main", "--run=./server -port {{.Port}}", "--build=make \"a b\" && $(touch pwned)", "--ready=log:up", "--pairs", "8", "--vary", "a b"}},
		{"urls", func(j *job) *job {
			return j.set("VERIFY_BASE_URL", "http://a/", "VERIFY_HEAD_URL", "http://b/?$(touch pwned)&*")
		}, nil, []string{"--base=http://a/", "--head=http://b/?$(touch pwned)&*"}},
		{"words", func(j *job) *job { return j }, append([]string{"--base", "a b.json", "--head", "*"}, load...), []string{"--base", "a b.json", "--head", "*"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := c.job(newJob(t))
			o := j.script(c.args...)
			for i := range c.want {
				c.want[i] = strings.Replace(c.want[i], "BASE", j.vars["CI_MERGE_REQUEST_DIFF_BASE_SHA"], 1)
			}
			if want := append(c.want, load...); o.code != 0 || !slices.Equal(o.after(), want) {
				t.Errorf("exit code %d, %q, want %q\n%s%s", o.code, o.after(), want, o.out, o.errs)
			}
		})
	}
}

// The words of a load may be quoted, and nothing in them is expanded.
func TestWords(t *testing.T) {
	j := newJob(t).set("VERIFY_LOAD", "http -H 'X: a  b' -d \"it's\" a\\ b $(touch pwned) `touch pwned` $HOME * ; touch pwned")
	o := j.script()
	_, words, _ := strings.Cut(strings.Join(o.after(), "|"), "|--|")
	if want := "http|-H|X: a  b|-d|it's|a b|$(touch|pwned)|`touch|pwned`|$HOME|*|;|touch|pwned"; words != want {
		t.Errorf("%s, want %s", words, want)
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		code         string
		inconclusive string
		want         int
		verdict      string
		annotation   string
	}{
		{"0", "fail", 0, "ok", ""},
		{"4", "fail", 4, "regressed", "::error file=.github/workflows/ci.yml,title=takt verify::regressed: p99 4.01ms → 4.8ms, +19.8 %25 ("},
		{"4", "warn", 4, "regressed", "::error "},
		{"5", "fail", 5, "inconclusive", "::error "},
		{"5", "warn", 0, "inconclusive", "::warning file=.github/workflows/ci.yml,title=takt verify::inconclusive"},
		{"6", "warn", 6, "invalid", "::error file=.github/workflows/ci.yml,title=takt verify::invalid: why it failed\n"},
		{"7", "fail", 7, "base does not run", "::error "},
		{"8", "fail", 8, "head does not run", "::error "},
		{"1", "fail", 1, "failed", "::error "},
		{"130", "warn", 130, "cancelled", "::error "},
		{"0", "nonsense", 2, "", "::error "},
	} {
		o := newJob(t).github().set("FAKE_CODE", c.code, "VERIFY_INCONCLUSIVE", c.inconclusive, "FAKE_STDERR", "progress\ntakt: why it `failed`\n").script()
		name := c.code + " " + c.inconclusive
		if o.code != c.want {
			t.Errorf("%s: exit code %d, want %d: %s", name, o.code, c.want, o.errs)
		}
		if n := strings.Count(o.out, "::error ") + strings.Count(o.out, "::warning "); !strings.Contains(o.out, c.annotation) || (c.annotation == "") != (n == 0) || n > 1 {
			t.Errorf("%s: %q, want %q", name, o.out, c.annotation)
		}
		if c.verdict == "" {
			continue
		}
		if want := "verdict=" + c.verdict + "\ncode=" + c.code + "\n"; o.output != want {
			t.Errorf("%s: output %q, want %q", name, o.output, want)
		}
		lines := strings.Split(o.summary, "\n")
		if lines[0] != "### takt verify: "+c.verdict || !strings.HasPrefix(lines[2], "**"+c.verdict+"**") || lines[3] == "" || lines[4] == "" || lines[5] != "" {
			t.Errorf("%s: the summary does not begin with three lines:\n%s", name, o.summary)
		}
		if c.code == "4" && !strings.HasSuffix(lines[3], "8 pairs: regressed; base is 8e2cf51: one; head is HEAD: two \\| three  ") {
			t.Errorf("the second line is %s", lines[3])
		}
		judged := c.code == "0" || c.code == "4" || c.code == "5"
		if !judged {
			o.erred(t, c.verdict, "why it failed")
		}
		if judged != strings.Contains(o.summary, "| p99 |") || judged == strings.Contains(o.summary, "`why it failed`") {
			t.Errorf("%s: summary\n%s", name, o.summary)
		}
		if !strings.Contains(o.errs, "why it `failed`") {
			t.Errorf("%s: the log does not show what takt printed", name)
		}
	}
}

// A shallow clone lacks the commit to compare with; the message says what to do on this system.
func TestShallow(t *testing.T) {
	for _, c := range []struct {
		name string
		job  func(*job) *job
		want string
	}{
		{"github", (*job).github, "fetch-depth: 0"},
		{"gitlab", (*job).gitlab, `GIT_DEPTH: "0"`},
		{"jenkins", (*job).jenkins, "Shallow clone"},
		{"none", func(j *job) *job { return j }, "git fetch --unshallow"},
	} {
		j := c.job(newJob(t))
		whole := j.dir
		j.git("clone", "-q", "--depth", "1", "file://"+whole, filepath.Join(j.tmp, "shallow"))
		j.dir = filepath.Join(j.tmp, "shallow")
		if c.name == "jenkins" || c.name == "github" {
			j.git("update-ref", "-d", "refs/remotes/origin/main")
		}
		o := j.script()
		if o.code != 2 || !strings.Contains(o.errs, c.want) || o.args != nil {
			t.Errorf("%s: exit code %d: %s", c.name, o.code, o.errs)
		}
		o.erred(t, "failed", c.want)
		if lines := strings.Split(o.summaryFile, "\n"); len(lines) < 5 || !strings.HasPrefix(lines[2], "**failed**: `the clone ") {
			t.Errorf("%s: summary\n%s", c.name, o.summaryFile)
		}
		if c.name == "github" && (!strings.Contains(o.out, "::error ") || !strings.Contains(o.summary, "fetch-depth: 0")) {
			t.Errorf("%s%s", o.out, o.summary)
		}
	}
	// both tips are there, but not the commit where they parted
	j := newJob(t).github()
	j.git("checkout", "-q", "--orphan", "other")
	j.git("commit", "-q", "--allow-empty", "-m", "unrelated")
	if o := j.script(); o.code != 2 || !strings.Contains(o.errs, "fetch-depth: 0") {
		t.Errorf("exit code %d: %s", o.code, o.errs)
	}
}

// A repository with one commit has no base, however deep its clone is.
func TestFirstCommit(t *testing.T) {
	j := newJob(t)
	j.git("checkout", "-q", "--orphan", "other")
	j.git("commit", "-q", "--allow-empty", "-m", "first")
	if o := j.script(); o.code != 2 || !strings.Contains(o.errs, "HEAD is the first commit") || o.args != nil {
		t.Errorf("exit code %d: %s", o.code, o.errs)
	}
}

// erred checks the JUnit of a job without a judgement.
func (o outcome) erred(t *testing.T, verdict, reason string) {
	t.Helper()
	var suite struct {
		Tests  int `xml:"tests,attr"`
		Errors int `xml:"errors,attr"`
		Cases  []struct {
			Error struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
			} `xml:"error"`
		} `xml:"testcase"`
	}
	err := xml.Unmarshal([]byte(o.junit), &suite)
	if err != nil || suite.Tests != 1 || suite.Errors != 1 || len(suite.Cases) != 1 || suite.Cases[0].Error.Type != verdict || !strings.Contains(suite.Cases[0].Error.Message, reason) {
		t.Errorf("%v: want the error %s: %s, JUnit\n%s", err, verdict, reason, o.junit)
	}
}

// The names of branches are anybody's text.
func TestHostileBranch(t *testing.T) {
	const branch = "$(touch${IFS}pwned)`touch${IFS}pwned`;touch${IFS}pwned,::error%0A'\"&"
	j := newJob(t).github().set("GITHUB_BASE_REF", branch, "GITHUB_HEAD_REF", branch)
	missing := j.script()
	if missing.code != 2 || !strings.Contains(missing.errs, "origin/"+branch) || strings.Count(missing.out, "\n") != 1 {
		t.Errorf("exit code %d: %s%s", missing.code, missing.errs, missing.out)
	}
	if !strings.Contains(missing.out, "::error%250A") {
		t.Errorf("the annotation is not escaped: %s", missing.out)
	}
	possible := strings.ReplaceAll(branch, ":", "") // git refuses a name with a colon
	j.git("update-ref", "refs/remotes/origin/"+possible, "HEAD~1")
	if o := j.set("GITHUB_BASE_REF", possible).script(); o.code != 0 || !slices.Contains(o.args, "--git=origin/"+possible+"...HEAD") {
		t.Errorf("exit code %d, %q: %s", o.code, o.args, o.errs)
	}
	for _, range_ := range []string{"--output=pwned", "--output=pwned..HEAD", "-x...HEAD"} {
		if o := newJob(t).set("VERIFY_GIT", range_).script(); o.code != 2 || o.args != nil {
			t.Errorf("%s: exit code %d, %q", range_, o.code, o.args)
		}
	}
}

// What a server prints is not a command to GitHub, and cannot leave the block of code of a summary.
func TestHostileOutput(t *testing.T) {
	o := newJob(t).github().set("FAKE_CODE", "8", "FAKE_STDERR", "````\n<img src=x>\n::error::forged\n::add-mask::a\n").script()
	stop := regexp.MustCompile(`(?s)^::stop-commands::([0-9a-f]{32})\n.*::([0-9a-f]{32})::\n::error file=`).FindStringSubmatch(o.out)
	if stop == nil || stop[1] != stop[2] {
		t.Errorf("%q", o.out)
	}
	if again := newJob(t).github().script(); stop != nil && strings.Contains(again.out, stop[1]) {
		t.Error("two runs have the same token")
	}
	if strings.Count(o.summary, "````") != 2 {
		t.Errorf("the block of code is not closed once:\n%s", o.summary)
	}
}

// The summary has each table under its heading, and wrong answers before all metrics.
func TestSummaryOfAnswers(t *testing.T) {
	o := newJob(t).github().set("FAKE_CODE", "4", "FAKE_JUDGED", "answered").script()
	lines := strings.Split(o.summary, "\n")
	if !strings.HasPrefix(lines[2], "**regressed**: head answers 100 of 100 requests differently (100 %, interval 96.4 to 100 %); p99 4.01ms") || strings.Contains(lines[2], "max") || !strings.HasPrefix(lines[4], "Next: look at $.total in the answer to GET ") {
		t.Errorf("%q", lines[:5])
	}
	for _, text := range []string{"\n\n| place |", "8 pairs: regressed**\n\n| metric |", "**costs, which do not decide; their words have a confidence of 95 % together**\n\n| metric |", "takt-results/verify.html` has every pair"} {
		if !strings.Contains(o.summary, text) {
			t.Errorf("no %q in\n%s", text, o.summary)
		}
	}
}

// The text of action.yml: the shell of its step, with the inputs in the variables that it names.
func TestAction(t *testing.T) {
	b, err := os.ReadFile("action/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, step, ok := strings.Cut(string(b), "    - id: verify\n")
	env, shell, ok2 := strings.Cut(step, "      run: |\n")
	shell, _, ok3 := strings.Cut(shell, "    - id: upload")
	if !ok || !ok2 || !ok3 || strings.Contains(shell, "${{") {
		t.Fatalf("the step verify is not as expected, or has an expression in its shell:\n%s", step)
	}
	j := newJob(t).github()
	inputs := map[string]string{"load": j.vars["VERIFY_LOAD"], "run": "./server $(touch pwned)", "flags": "--pairs 8", "inconclusive": "warn", "takt": j.vars["VERIFY_TAKT"]}
	for _, m := range regexp.MustCompile(`(?m)^        (\w+): (.*)$`).FindAllStringSubmatch(env, -1) {
		value := m[2]
		if input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`).FindStringSubmatch(value); input != nil {
			if value = inputs[input[1]]; !strings.Contains(string(b), "\n  "+input[1]+":\n") {
				t.Errorf("there is no input %s", input[1])
			}
		}
		j.set(m[1], value)
	}
	o := j.set("FAKE_CODE", "5").run("sh", "-e", "-c", unindent(shell))
	if o.code != 0 || !slices.Contains(o.args, "--run=./server $(touch pwned)") || !strings.Contains(o.output, "verdict=inconclusive") {
		t.Errorf("exit code %d, %q: %s", o.code, o.args, o.errs)
	}
	for _, name := range []string{"summary.md", "verify.md", "verify.json", "verify.xml", "verify.html", "verify.log"} {
		if _, err := os.Stat(filepath.Join(j.dir, "takt-results", name)); err != nil {
			t.Error(err)
		}
	}
}

// unindent removes the indentation of a block in YAML.
func unindent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimPrefix(line, "        "))
	}
	return b.String()
}

// The text of gitlab.yml: its lines of shell, with takt's repository and its build replaced.
func TestGitLab(t *testing.T) {
	b, err := os.ReadFile("gitlab.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(b), "  before_script:\n")
	script, _, _ = strings.Cut(script, "  allow_failure:")
	lines := regexp.MustCompile(`(?m)^    - (.*)$`).FindAllStringSubmatch(script, -1)
	if len(lines) != 4 {
		t.Fatalf("%d lines of shell:\n%s", len(lines), script)
	}
	j := newJob(t).gitlab().set("VERIFY_SOURCE", "file://"+sources(t), "VERIFY_REF", "main")
	shell := "set -e\n"
	for _, line := range lines {
		shell += builds(t, line[1]) + "\n"
	}
	o := j.set("FAKE_CODE", "4").run("sh", "-c", shell)
	if o.code != 4 || !strings.Contains(o.out, "**regressed**: p99") || !strings.Contains(o.out, "| metric |") {
		t.Errorf("exit code %d:\n%s%s", o.code, o.out, o.errs)
	}
	if !strings.Contains(o.out, "two | three") || !strings.Contains(o.summaryFile, `two \| three`) {
		t.Errorf("a log has no escapes of Markdown, and the summary has them:\n%s\n%s", o.out, o.summaryFile)
	}
	if o.summaryFile == "" || o.summary != "" {
		t.Error("GitLab has a summary in the results only")
	}
}

// sources is a repository with scripts/ci on the branch main.
func sources(t *testing.T) string {
	t.Helper()
	j := newJob(t)
	target := filepath.Join(j.dir, "scripts/ci")
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("takt-verify")
	if err == nil {
		err = os.WriteFile(filepath.Join(target, "takt-verify"), b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	j.git("add", "-A")
	j.git("commit", "-q", "-m", "scripts")
	plain := filepath.Join(j.tmp, "sources")
	j.git("clone", "-q", j.dir, plain)
	return plain
}

// builds replaces the build of takt, which needs its whole source, by a link to the takt of the test.
func builds(t *testing.T, line string) string {
	t.Helper()
	if !strings.Contains(line, "go build") {
		return line
	}
	return strings.Replace(line, "CGO_ENABLED=0 go build -trimpath -o bin/takt ./cmd/takt", `mkdir -p bin && ln -s "$VERIFY_TAKT" bin/takt`, 1)
}

// The shell of the Jenkinsfile.
func TestJenkins(t *testing.T) {
	b, err := os.ReadFile("Jenkinsfile")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?s)'''(.*?)'''`).FindAllStringSubmatch(string(b), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of shell", len(blocks))
	}
	j := newJob(t).jenkins()
	install := strings.Replace(blocks[0][1], "https://github.com/taktload/takt", "file://"+sources(t), 1)
	lines := strings.Split(install, "\n")
	for i := range lines {
		lines[i] = builds(t, lines[i])
	}
	if o := j.run("sh", "-xe", "-c", strings.Join(lines, "\n")); o.code != 0 {
		t.Fatalf("exit code %d: %s", o.code, o.errs)
	}
	for _, code := range []string{"0", "4", "5"} {
		if o := j.set("FAKE_CODE", code).run("sh", "-xe", "-c", blocks[1][1]); strconv.Itoa(o.code) != code {
			t.Errorf("exit code %d, want %s: %s", o.code, code, o.errs)
		}
	}
}

// takt itself accepts what the script gives it, and the script reads what takt writes.
func TestRealTakt(t *testing.T) {
	j := newJob(t).github().set(program, "takt")
	target := "http://127.0.0.1:1/" // nobody listens there
	o := j.script("--pairs", "8", "--base", target, "--head", target, "--", "http", "--rate", "50/s", "-z", "100ms")
	if o.code != 1 || !strings.Contains(o.summary, "connection refused") || !strings.Contains(o.output, "code=1") {
		t.Errorf("exit code %d\n%s%s", o.code, o.errs, o.summary)
	}
	if o := j.script("--nonsense"); o.code != 2 || !strings.Contains(o.errs, "unknown flag --nonsense") {
		t.Errorf("exit code %d: %s", o.code, o.errs)
	}
}

func TestMissing(t *testing.T) {
	for want, change := range map[string][]string{
		"there is no program nowhere":  {"VERIFY_TAKT", "nowhere"},
		"there is no load":             {"VERIFY_LOAD", ""},
		"check its quotes: http 'a":    {"VERIFY_LOAD", "http 'a"},
		"no command that runs":         {"VERIFY_RUN", ""},
		"cannot create the folder":     {"VERIFY_OUT", "/dev/null/x"},
		"git cannot read the reposito": {"GIT_DIR", "/nonexistent"},
	} {
		o := newJob(t).set(change...).script()
		if o.code == 0 || !strings.Contains(o.errs, want) || o.args != nil {
			t.Errorf("%q: exit code %d: %s", change, o.code, o.errs)
		}
	}
}

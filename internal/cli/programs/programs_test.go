package programs_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/programs"
	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/program"
	"github.com/taktload/takt/pkg/bench"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

// child makes the test a program without takt.
const child = "TAKT_PROGRAMS_CHILD"

// TestMain makes the test a program for takt.
func TestMain(m *testing.M) {
	if os.Getenv(child) == "" && (len(os.Args) != 2 || os.Args[1] != program.Greeting) {
		os.Exit(m.Run())
	}
	fail := flag.Bool("fail", false, "fail each second operation")
	flag.Duration("delay", time.Second, "of nothing")
	flag.String("password", "", "of nobody")
	flag.String("url", "", "of nothing")
	bench.Main(func(args []string) (*takt.Driver, error) {
		if len(args) > 0 && args[0] == "bad" {
			return nil, errors.New("the argument is bad")
		}
		if len(args) > 0 && args[0] == "wrong" {
			return nil, bench.Usage(errors.New(strings.Join(append([]string{"give an address, not"}, args[1:]...), " ")))
		}
		return load.Handler(func(_ context.Context, op *takt.Op, r *takt.Result) error {
			time.Sleep(time.Millisecond)
			if *fail && op.Seq%2 == 0 {
				return load.Failed("unlucky", errors.New("its turn"))
			}
			return nil
		}), nil
	})
}

// A program has the same target and command in its report, with takt and alone.
func TestAloneAsWithTakt(t *testing.T) {
	args := []string{"-n", "5", "--fail", "--password", "hunter2secret", "--url=http://ann:hunter2secret@h/", "-o", "json=-", "--progress", "none", "http://there:1/x", "more"}
	code, out, said := takter(t, true, append([]string{self(t), "--no-store"}, args...)...)
	with, err := document.Parse([]byte(out))
	if code != 0 || err != nil {
		t.Fatalf("%d: %s %v", code, said, err)
	}
	cmd := exec.CommandContext(t.Context(), self(t), args...)
	cmd.Env = append(os.Environ(), child+"=1")
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	alone, err := document.Parse(text)
	if err != nil || strings.Contains(string(text), "hunter2secret") {
		t.Fatalf("%v: %s", err, text)
	}
	one, other := stored.RunOf(alone), stored.RunOf(with)
	if a, b := one.Target(), other.Target(); a != b || !strings.HasSuffix(a, " there:1/x") || alone.Variables["arg_2"] != "more" {
		t.Errorf("the target is %q alone, and %q with takt", a, b)
	}
	if want := slices.DeleteFunc(slices.Clone(with.Command), func(w string) bool { return w == "--no-store" }); !slices.Equal(append([]string{"takt"}, alone.Command...), want) {
		t.Errorf("the command is\n%q alone, and\n%q with takt", alone.Command, want)
	}
}

// lines is a buffer for the goroutines of a command.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *lines) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func takter(t *testing.T, allowed bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err lines
	env := core.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Getenv: func(string) string { return "" }, Interrupt: t.Context()}
	if allowed {
		env.Programs = func(string) bool { return true }
	}
	code = cli.Main(env, args)
	return code, out.String(), err.String()
}

func self(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A program is a load like any other.
func TestLoad(t *testing.T) {
	code, out, said := takter(t, true, self(t), "--rate", "200/s", "-n", "100", "--fail", "--password", "hunter2secret", "--no-store", "-o", "json=-", "--progress", "none", "http://there:1/x")
	r, err := document.Parse([]byte(out))
	if code != 0 || err != nil {
		t.Fatalf("%d: %s %v", code, said, err)
	}
	if r.Kind != "bench" || r.Counts.OK != 50 || r.Counts.Failed != 50 || r.Errors[0].Class != "unlucky" || r.Variables["host"] != "there:1" || r.Variables["fail"] != true || r.Variables["delay"] != nil {
		t.Errorf("%s: %+v %+v %v", r.Kind, r.Counts, r.Errors, r.Variables)
	}
	if run := stored.RunOf(r); run.Target() != "programs.test there:1/x" { // the main package of this test
		t.Errorf("the target is %q", run.Target())
	}
	if strings.Contains(out, "hunter2secret") {
		t.Errorf("the report has the password: %s", out)
	}
	code, _, said = takter(t, true, self(t), "--rate", "200/s", "-n", "10", "--no-store", "--progress", "none", "bad")
	if code != 1 || !strings.Contains(said, "takt: the argument is bad") {
		t.Errorf("%d: %s", code, said)
	}
	code, _, said = takter(t, true, self(t), "--rate", "200/s", "-n", "10", "--no-store", "--progress", "none", "wrong")
	if code != 2 || !strings.Contains(said, "takt: give an address") {
		t.Errorf("%d: %s", code, said)
	}
	code, _, said = takter(t, true, self(t), "--rate", "200/s", "-n", "10", "--no-store", "--progress", "none", "wrong", "redis://u:hunter2secret@h")
	if code != 2 || !strings.Contains(said, "not redis://u:xxxxx@h") {
		t.Errorf("%d: %s", code, said)
	}
	_, out, _ = takter(t, true, self(t), "-n", "1", "--no-store", "--progress", "none", "-o", "json=-", "--url", "redis://u:hunter2secret%zz@h", "--url", "redis://u:hunter2secret@h", "redis://u:hunter2secret%zz@h", "u:hunter2secret@tcp(h)/db")
	if !strings.Contains(out, `"arg_2": "u:xxxxx@tcp(h)/db"`) || !strings.Contains(out, `"url": "redis://u:xxxxx@h"`) || strings.Contains(out, "hunter2secret") {
		t.Errorf("the report has a password: %s", out)
	}
}

// takt accepts every flag of the program, and the program every flag of takt's that is about the load.
func TestSameFlags(t *testing.T) {
	flags := regexp.MustCompile(`(?m)^  (?:-(\w), |    )--([\w.-]+)`)
	c := exec.Command(self(t), "--help-all")
	c.Env = append(os.Environ(), child+"=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	theirs, ours := map[string]string{}, map[string]string{}
	for _, m := range flags.FindAllStringSubmatch(string(out), -1) {
		theirs[m[2]] = m[1]
	}
	_, help, _ := takter(t, true, self(t), "--help-all")
	for _, m := range flags.FindAllStringSubmatch(help, -1) {
		ours[m[2]] = m[1]
	}
	for name, short := range theirs {
		if got, ok := ours[name]; !ok || got != short {
			t.Errorf("the program has -%s, --%s, and takt %q, %v", short, name, got, ok)
		}
	}
	for name := range ours {
		if _, ok := theirs[name]; !ok && !slices.Contains(program.Taken(), name) {
			t.Errorf("takt has --%s, and the program does not", name)
		}
	}
	if theirs["connections"] != "c" || len(theirs) < 25 {
		t.Errorf("the program shows %v", theirs)
	}
}

// Commands that run loads run programs, too.
func TestCommands(t *testing.T) {
	me := self(t)
	for _, c := range []struct {
		args []string
		want string // in what is printed
		code []int
	}{
		{[]string{"capacity", "--slo", "p50<60s,errors<90%", "--start", "50/s", "--max", "50/s", "--repeats", "1", "-z", "300ms", "--warmup", "0", "--pause", "0", "--no-store", "--", me}, "50/s", []int{0, 6}},
		{[]string{"verify", "--pairs", "1", "--metric", "p50", "--base", me, "--head", me, "--", "--rate", "50/s", "-z", "200ms", "--no-store"}, "1 pair can prove nothing", []int{5, 6}},
		{[]string{"verify", "--pairs", "1", "--metric", "p50", "--base", "http://a/", "--head", "http://b/", "--", me, "--rate", "50/s", "-z", "200ms", "--no-store"}, "1 pair can prove nothing", []int{5, 6}},
		{[]string{"verify", "--duet", "--base", me, "--head", me, "--", "--rate", "50/s"}, "use --pairs", []int{2}},
		{[]string{"config", me, "--rate", "50/s"}, "rate = 50/s", []int{0}},
		{[]string{me, "-c", "5", "-n", "20", "--no-store", "-o", "json=-", "--progress", "none"}, `"connections": 5`, []int{0}},
		{[]string{me, "--cpus", "1", "--max-lag", "1ms", "-n", "20", "--no-store", "--progress", "none"}, "[no_loop]", []int{0}},
		{[]string{"config", me, "--rate", "50/s"}, "duration = 10s", []int{0}},
		{[]string{me, "--help"}, "      --delay duration  of nothing (default 1s)", []int{0}},
		{[]string{"config", me}, "requests = 200", []int{0}},
		{[]string{"verify", "--base", "./missing", "--head", me, "--", "--rate", "50/s"}, "--base: there is no program ./missing: no such file or directory; build it, or correct its path", []int{2}},
		{[]string{"verify", "--pairs", "8", "--base", me, "--head", "http://a/", "--", "--rate", "50/s"}, "--head: http://a/ is not the path of a program", []int{2}},
		{[]string{"verify", "--base", "a", "--head", "b", "--metric", "p50", "--max-pairs", "7", "--", me, "--rate", "500/s", "-z", "20ms", "--no-store"}, "runs of base and head in turn", []int{0, 4, 5, 6}},
		{[]string{"capacity", "--slo", "p50<60s", "--", "./missing"}, "there is no program ./missing: no such file or directory; build it, or correct its path", []int{2}},
		{[]string{"capacity", "--slo", "p50<60s", "--", "/bin/true"}, "is not a benchmark for takt", []int{2}},
	} {
		code, out, said := takter(t, true, c.args...)
		if !slices.Contains(c.code, code) || !strings.Contains(out+said, c.want) {
			t.Errorf("%q: %d, want %d and %s\n%s%s", c.args, code, c.code, c.want, out, said)
		}
	}
}

// Who may not start programs does not.
func TestNotAllowed(t *testing.T) {
	for _, args := range [][]string{{self(t), "--rate", "1/s"}, {"capacity", "--slo", "p50<1s", "--", self(t)}} {
		if code, _, said := takter(t, false, args...); code != 2 || !strings.Contains(said, "takt may not start the program") {
			t.Errorf("%d: %s", code, said)
		}
	}
}

// A program can have no flag of takt's load commands.
func TestReserved(t *testing.T) {
	env := core.Env{Stdin: strings.NewReader(""), Getenv: func(string) string { return "" }, Programs: func(string) bool { return true }}
	env, err := programs.With(env, []string{self(t)})
	if err != nil {
		t.Fatal(err)
	}
	cmd := core.Subcommand(cli.Root(env), self(t))
	if cmd == nil {
		t.Fatal("there is no command of the program")
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		own := f.Name == "fail" || f.Name == "delay" || f.Name == "password" || f.Name == "url" || strings.HasPrefix(f.Name, "test.")
		if clash := program.Clash(f.Name); own != (clash == nil) {
			t.Errorf("--%s: %v", f.Name, clash)
		}
	})
}

// A command may have a file to read after --, which is not a program.
func TestFilesAreNotPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := core.Env{Programs: func(path string) bool { t.Errorf("takt may have started %s", path); return false }}
	if _, err := programs.With(env, []string{"show", "--", path}); err != nil {
		t.Error(err)
	}
}

// The name of a program without a path is no command, but takt says what was meant.
func TestWithoutPath(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"mine", "show"} {
		if err := os.WriteFile(name, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args    []string
		allowed bool
		hint    bool
	}{
		{[]string{"mine", "-n", "1"}, true, true},
		{[]string{"config", "mine"}, true, true},
		{[]string{"mine"}, false, false},
		{[]string{"show", "--nonsense"}, true, false},
	} {
		code, _, said := takter(t, c.allowed, c.args...)
		if code != 2 || strings.Contains(said, `unknown command "mine"; did you mean takt ./mine?`) != c.hint {
			t.Errorf("%q: %d: %s", c.args, code, said)
		}
	}
}

// An answer about a program has its name.
func TestTargetOfAnswers(t *testing.T) {
	me := self(t)
	_, out, said := takter(t, true, "capacity", "--slo", "p50<60s,errors<90%", "--start", "50/s", "--max", "50/s", "--repeats", "1", "-z", "300ms", "--warmup", "0", "--pause", "0", "--no-store", "-o", "text", "--", me, "there:1")
	if !strings.Contains(out, "capacity programs.test there:1") {
		t.Errorf("%s%s", out, said)
	}
}

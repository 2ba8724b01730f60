package trial

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/generators"
)

// generatorVariable makes the test's program a small load generator: sequential, with an output of its own.
const generatorVariable = "TRIAL_TEST_GENERATOR"

func TestMain(m *testing.M) {
	if how := os.Getenv(generatorVariable); how != "" {
		generate(how, os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// generate sends n requests one after the other.
func generate(how string, args []string) {
	url, n := args[0], 0
	fmt.Sscan(args[1], &n)
	client := &http.Client{Transport: &http.Transport{}}
	good, bad := 0, 0
	slowest := time.Duration(0)
	for range n {
		began := time.Now()
		req, _ := http.NewRequest("POST", url, strings.NewReader("x")) // net/http repeats no POST
		resp, err := client.Do(req)
		slowest = max(slowest, time.Since(began))
		if err != nil {
			bad++
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		good++
	}
	out := io.Writer(os.Stdout)
	switch how {
	case "stderr":
		out = os.Stderr
	case "file":
		f, err := os.Create(args[2])
		if err != nil {
			panic(err)
		}
		defer f.Close()
		out = f
	case "hides":
		good, bad = good+bad, 0
	case "child": // one that leaves the group
		cmd := exec.Command("sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Fprintf(out, "child %d\n", cmd.Process.Pid)
	case "silent":
		return
	}
	fmt.Fprintf(out, "good %d\nbad %d\nslowest %v\n", good, bad, slowest)
	if how == "fails" {
		fmt.Fprintln(os.Stderr, "error: 3 connections were too slow")
		os.Exit(3)
	}
}

// judgedBy judges the small generator.
func judgedBy(t *testing.T, how string, only ...string) (generators.Generator, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	reader, faults := generators.Custom([]string{`answered=^good (\d+)$`, `errors=^bad (\d+)$`, `max=^slowest (\S+)$:time`, `words+=^(child \d+)$`})
	if faults != nil {
		t.Fatal(faults)
	}
	words := []string{self, "{{.URL}}", "{{.Requests}}"}
	if how == "file" {
		words = append(words, "{{.File}}")
	}
	c, err := ParseCommand(words)
	if err != nil {
		t.Fatal(err)
	}
	o := Defaults()
	o.Rate, o.Duration, o.Connections, o.Only, o.Read, o.Dir = 400, 500*time.Millisecond, []int{1}, only, reader, t.TempDir()
	o.Env = append(os.Environ(), generatorVariable+"="+how)
	return Judge(t.Context(), o, "small", c)
}

// A generator runs as a process against real targets, and its counts are compared with their records.
func TestJudge(t *testing.T) {
	for _, how := range []string{"stdout", "stderr", "file", "hides"} {
		only := []string{"resets", "closes"}
		if how == "stderr" || how == "file" {
			only = []string{"steady"}
		}
		g, err := judgedBy(t, how, only...)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 1, false: 3}[only[0] == "steady"]; len(g.Trials) != want || g.Name != "small" {
			t.Fatalf("%s: %d trials of %s", how, len(g.Trials), g.Name)
		}
		for _, trial := range g.Trials {
			r := trial.Runs[0]
			broken := trial.Pathology == "resets" || trial.Pathology == "closes"
			if r.Served.Requests != 200 || r.Unread != "" || r.Exit != "exit status 0" || r.Failed || r.Memory == 0 || r.CPU == 0 || (r.Served.Broken > 0) != broken {
				t.Errorf("%s, %s: %+v", how, trial.Pathology, r)
			}
			if c := trial.Cell(generators.Errors); (c.State == generators.Silent) != (broken && how == "hides") {
				t.Errorf("%s, %s: %+v", how, trial.Pathology, c)
			}
			if c := trial.Cell(generators.P99); c.State != generators.NotPrinted {
				t.Errorf("%s, %s: %+v", how, trial.Pathology, c)
			}
			if c := trial.Cell(generators.Sent); c.State != generators.Right {
				t.Errorf("%s, %s: %+v", how, trial.Pathology, c)
			}
		}
	}
}

// A generator that fails and warns says so; a warning that it always prints is none.
func TestJudgeKeepsWords(t *testing.T) {
	g, err := judgedBy(t, "fails", "slow")
	if err != nil {
		t.Fatal(err)
	}
	if r := g.Trials[0].Runs[0]; r.Exit != "exit status 3" || !r.Failed || len(r.Said.Words) != 1 {
		t.Errorf("%+v", r)
	}
	if r := g.Trials[1].Runs[0]; len(r.Said.Words) != 0 {
		t.Errorf("a warning of the steady run is one: %q", r.Said.Words)
	}
}

// Nothing of a generator is left, even if it left its process group.
func TestJudgeLeavesNothing(t *testing.T) {
	g, err := judgedBy(t, "child", "steady")
	if err != nil {
		t.Fatal(err)
	}
	words := g.Trials[0].Runs[0].Said.Words
	if len(words) != 1 {
		t.Fatalf("%q", words)
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(words[0], "child "))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(text), ") Z ") {
		t.Errorf("the child is still there: %s", text)
	}
}

func TestJudgeRefuses(t *testing.T) {
	if _, err := judgedBy(t, "silent", "steady"); err == nil || !strings.Contains(err.Error(), "not whole") || !strings.Contains(err.Error(), "200 requests") {
		t.Errorf("a generator that says nothing: %v", err)
	}
	o := Defaults()
	o.Duration, o.Env = 200*time.Millisecond, os.Environ()
	for name, words := range map[string][]string{
		"cannot start": {"./no-such-generator", "{{.URL}}"},
		"--read":       {"sh", "-c", "echo p99 is 3ms '{{.URL}}'"},
	} {
		c, err := ParseCommand(words)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Judge(t.Context(), o, "", c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", words, err)
		}
	}
	for _, words := range [][]string{{"wrk"}, {"wrk", "{{.Url}}"}, {"wrk", "{{.URL"}} {
		if _, err := ParseCommand(words); err == nil || !strings.Contains(err.Error(), "{{.URL}}") {
			t.Errorf("%q: %v", words, err)
		}
	}
}

func TestOptions(t *testing.T) {
	o := Defaults()
	if faults := o.Validate(); faults != nil {
		t.Error(faults)
	}
	if o.freezing() != 6*time.Second {
		t.Errorf("freezes for %v", o.freezing())
	}
	o.Duration = 20 * time.Second
	if o.freezing() != 21*time.Second {
		t.Errorf("freezes for %v", o.freezing())
	}
	o = Options{Rate: 0, Duration: time.Millisecond, Connections: []int{0}, Repeats: 0, Only: []string{"x"}}
	if faults := o.Validate(); len(faults) != 5 {
		t.Errorf("%d faults: %v", len(faults), faults)
	}
	o = Defaults()
	o.Rate, o.Duration = 100_000, time.Minute
	if faults := o.Validate(); len(faults) != 1 {
		t.Errorf("%v", faults)
	}
}

// A large output is read in part, and the generator never waits for it.
func TestLimitedOutput(t *testing.T) {
	var l limited
	w := bufio.NewWriter(&l)
	for range mostText>>10 + 100 {
		fmt.Fprintln(w, strings.Repeat("x", 1023))
	}
	if err := w.Flush(); err != nil || len(l.String()) != mostText {
		t.Errorf("%d bytes, %v", len(l.String()), err)
	}
}

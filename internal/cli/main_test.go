package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/target/targettest"
	"github.com/taktload/takt/pkg/takt"
)

// serve runs a target until the test ends.
func serve(t *testing.T, o target.Options) (url string) {
	t.Helper()
	return targettest.Serve(t, o).URL()
}

// call runs takt in this process.
func call(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Interrupt: ctx,
	}, args)
	return code, out.String(), errs.String()
}

// Two runs at once in one process do not see each other, and leave the process as
// it was.
func TestTwiceAtOnce(t *testing.T) {
	procs, gc := runtime.GOMAXPROCS(0), gcPercent()
	url := serve(t, target.Options{})
	paths := []string{"/first", "/second"}
	reports := make([]takt.Report, len(paths))
	var both sync.WaitGroup
	for i, path := range paths {
		both.Go(func() {
			n := []string{"60", "90"}[i]
			code, out, errs := call(t.Context(), "http", "--rate", "300/s", "-n", n, "-o", "json=-", url+path)
			if code != exitOK {
				t.Errorf("%s: exit code %d: %s", path, code, errs)
				return
			}
			if err := json.Unmarshal([]byte(out), &reports[i]); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for i, path := range paths {
		want := []uint64{60, 90}[i]
		if r := &reports[i]; r.Counts.OK != want || r.Counts.Scheduled != want || r.Variables["path"] != path {
			t.Errorf("%s: %+v of %v, want %d", path, r.Counts, r.Variables["path"], want)
		}
	}
	if reports[0].ID == reports[1].ID {
		t.Error("both runs have one id")
	}
	if p, g := runtime.GOMAXPROCS(0), gcPercent(); p != procs || g != gc {
		t.Errorf("afterwards GOMAXPROCS is %d and GOGC %d, want %d and %d", p, g, procs, gc)
	}
}

func gcPercent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

// The exit codes are a promise to scripts: they never change.
func TestExitCodes(t *testing.T) {
	for got, want := range map[int]int{
		exitOK: 0, exitFailed: 1, exitUsage: 2, exitAssertion: 3, exitRegression: 4,
		exitInconclusive: 5, exitInvalid: 6, exitSignal + 2: 130, exitSignal + 15: 143,
	} {
		if got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// Which reason decides when there are several.
func TestOutcome(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(&SignalError{Number: 15})
	good := takt.Report{Counts: takt.Counts{Scheduled: 2, OK: 1, Failed: 1}, Verdict: takt.Valid}
	invalid := good
	invalid.Verdict = takt.Invalid
	none := takt.Report{
		Counts: takt.Counts{Scheduled: 2, Failed: 2}, Verdict: takt.Invalid,
		Errors: []takt.ErrorClass{{Class: "reset", Count: 2, Sample: "connection reset"}},
	}
	full := errors.New("disk full")
	for _, c := range []struct {
		name    string
		ctx     context.Context
		report  takt.Report
		written error
		asserts int
		passed  bool
		code    int
		says    string
	}{
		{"good", t.Context(), good, nil, 1, true, exitOK, ""},
		{"nothing was scheduled", t.Context(), takt.Report{}, nil, 0, true, exitOK, ""},
		{"an assertion failed", t.Context(), good, nil, 1, false, exitAssertion, ""},
		{"invalid, nobody asked", t.Context(), invalid, nil, 0, true, exitOK, ""},
		{"invalid, though it passed", t.Context(), invalid, nil, 1, true, exitInvalid, "takt: the run is invalid"},
		{"invalid goes before a failed assertion", t.Context(), invalid, nil, 1, false, exitInvalid, "takt: the run is invalid"},
		{"no success goes before invalid", t.Context(), none, nil, 1, false, exitFailed, "takt: not one operation succeeded: connection reset"},
		{"a signal goes before no success", interrupted, none, nil, 1, false, 143, ""},
		{"a lost report goes before all", interrupted, none, full, 1, false, exitFailed, "takt: disk full"},
	} {
		var errs bytes.Buffer
		l := &load{demands: demands{assertions: make([]assert.Assertion, c.asserts)}}
		if !c.passed {
			c.report.Assertions = []takt.Assertion{{Result: takt.Pass}, {Result: takt.Fail}}
		}
		got := Env{Stderr: &errs}.exit(l.outcome(c.ctx, &c.report, c.written))
		if got != c.code || !strings.HasPrefix(errs.String(), c.says) || c.says == "" && errs.Len() > 0 {
			t.Errorf("%s: exit code %d, want %d, %q", c.name, got, c.code, &errs)
		}
	}
}

// What the user leaves open, filled in and visible in the variables.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		args     string
		duration time.Duration
		requests uint64
		conns    int
	}{
		{"--rate 5/s", 10 * time.Second, 0, 0},
		{"--rate 5/s -n 7", 0, 7, 0},
		{"--rate 5/s -z 1m", time.Minute, 0, 0},
		{"--rate 5/s -c 3", 10 * time.Second, 0, 3},
		{"", 0, 200, 50},
		{"--rate max -z 2", 2 * time.Second, 0, 50},
		{"-n 9 -c 3", 0, 9, 3},
		{"--stages 2s@5/s", 0, 0, 0},
	} {
		l := parsed(t, strings.Fields(c.args)...)
		if e := l.engine; e.Duration != c.duration || e.Requests != c.requests || e.Connections != c.conns {
			t.Errorf("%q: %v, %d requests, %d connections, want %v, %d, %d",
				c.args, e.Duration, e.Requests, e.Connections, c.duration, c.requests, c.conns)
		}
		got, shown := l.head().Variables["duration_s"]
		if shown != (c.duration > 0) || shown && got != c.duration.Seconds() {
			t.Errorf("%q: the variables have duration_s %v", c.args, got)
		}
	}
}

// parsed is takt http with args, ready to run.
func parsed(t *testing.T, args ...string) *load {
	t.Helper()
	row := driver.Table()[0]
	l := &load{env: Env{Stdout: &bytes.Buffer{}, settings: &settings{}}, row: row, engine: engine.Defaults(), driver: row.New(nil), progress: progressAuto, repeat: 1}
	l.flags = pflag.NewFlagSet("http", pflag.ContinueOnError)
	l.engine.AddFlags(l.flags)
	l.driver.AddFlags(l.flags)
	l.addFlags(l.flags)
	if err := l.flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if faults := l.faults([]string{"http://127.0.0.1:1/"}); faults != nil {
		t.Fatal(faults)
	}
	return l
}

// The first signal, given by the context, ends the schedule but not the report;
// and it ends what never began.
func TestInterrupt(t *testing.T) {
	for _, number := range []int{2, 15} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&SignalError{Number: number})
		code, _, errs := call(ctx, "http", "--rate", "10/s", "-z", "30s", serve(t, target.Options{}))
		if code != 128+number {
			t.Errorf("signal %d: exit code %d: %s", number, code, errs)
		}
		code, _, errs = call(ctx, "target", "--addr", "127.0.0.1:0")
		if code != 128+number {
			t.Errorf("signal %d: the target's exit code is %d: %s", number, code, errs)
		}
	}
}

// A command line is shown as it was given, but for its secrets.
func TestCommand(t *testing.T) {
	s := serve(t, target.Options{})
	url := strings.Replace(s, "http://", "http://bob:lion@", 1)
	code, out, errs := call(t.Context(), "http", "--label", "b=2", "--label", "a=1", "-n", "5", "-a", "ann:tiger", "-H", "Cookie: id=seven", "--header=X-Tok:seven", "-H=X-A: 1", "-o", "json", url)
	var r takt.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
		t.Fatal(code, err, errs)
	}
	want := "takt http --label b=2 --label a=1 -n 5 -a xxxxx -H Cookie: xxxxx --header=X-Tok: xxxxx -H=X-A: xxxxx -o json " + strings.Replace(url, "lion", "xxxxx", 1)
	if got := strings.Join(r.Command, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

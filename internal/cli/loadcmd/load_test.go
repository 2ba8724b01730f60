package loadcmd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// Which reason decides when there are several.
func TestOutcome(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(&core.SignalError{Number: 15})
	good := takt.Report{Counts: takt.Counts{Scheduled: 2, OK: 1, Failed: 1}, Verdict: takt.Valid}
	invalid := good
	invalid.Verdict = takt.Invalid
	none := takt.Report{
		Counts: takt.Counts{Scheduled: 2, Failed: 2}, Verdict: takt.Invalid,
		Errors: []takt.ErrorClass{{Class: "reset", Count: 2, Sample: "connection reset"}},
	}
	full := errors.New("disk full")
	all := func(results ...takt.Outcome) []takt.Outcome { return results }
	for _, c := range []struct {
		name    string
		ctx     context.Context
		report  takt.Report
		written error
		results []takt.Outcome // of the assertions
		code    int
		says    string
	}{
		{"good", t.Context(), good, nil, all(takt.Pass), core.ExitOK, ""},
		{"nothing was scheduled", t.Context(), takt.Report{}, nil, nil, core.ExitOK, ""},
		{"an assertion failed", t.Context(), good, nil, all(takt.Pass, takt.Fail), core.ExitAssertion, ""},
		{"an assertion is void", t.Context(), good, nil, all(takt.Pass, takt.Void), core.ExitInvalid, "takt: takt itself was late, so some assertions prove nothing"},
		{"failed goes before void", t.Context(), good, nil, all(takt.Void, takt.Fail, takt.Void), core.ExitAssertion, ""},
		{"invalid, nobody asked", t.Context(), invalid, nil, nil, core.ExitOK, ""},
		{"invalid, and met all the same", t.Context(), invalid, nil, all(takt.Pass), core.ExitOK, ""},
		{"invalid, and missed all the same", t.Context(), invalid, nil, all(takt.Void, takt.Fail), core.ExitAssertion, ""},
		{"invalid, so nothing is proved", t.Context(), invalid, nil, all(takt.Void, takt.Void), core.ExitInvalid, "takt: the run is invalid, so the assertions prove nothing"},
		{"no success goes before invalid", t.Context(), none, nil, all(takt.Void), core.ExitFailed, "takt: not one operation succeeded: connection reset"},
		{"a signal goes before no success", interrupted, none, nil, all(takt.Fail), 143, ""},
		{"a lost report goes before all", interrupted, none, full, all(takt.Fail), core.ExitFailed, "takt: disk full"},
	} {
		var errs bytes.Buffer
		l := &load{}
		for _, result := range c.results {
			c.report.Assertions = append(c.report.Assertions, takt.Assertion{Result: result})
		}
		got := core.Env{Stderr: &errs}.Exit(l.outcome(c.ctx, &c.report, c.written))
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
		l := validated(t, strings.Fields(c.args)...)
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
	l := &load{env: core.Env{Stdout: &bytes.Buffer{}, Settings: &core.Settings{}}, row: row, engine: engine.Defaults(), driver: row.New(nil), progress: progressAuto, repeat: 1}
	l.flags = pflag.NewFlagSet("http", pflag.ContinueOnError)
	l.engine.AddFlags(l.flags)
	l.driver.AddFlags(l.flags)
	l.addFlags(l.flags)
	if err := l.flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return l
}

// validated is parsed, of a command line without faults.
func validated(t *testing.T, args ...string) *load {
	t.Helper()
	l := parsed(t, args...)
	if faults := l.faults([]string{"http://127.0.0.1:1/"}); faults != nil {
		t.Fatal(faults)
	}
	return l
}

// A name that no report of the load can have is refused before the load is sent. A protocol whose latencies
// are not known, as that of a program, accepts any.
func TestUnknownLatency(t *testing.T) {
	l := parsed(t, "--rate", "5/s", "--assert", "p99<1s,servce.p99<1s,first_byte.max<1s,on_time.p99<1s,errors<1%", "--assert", "transfer.p50<1s")
	faults := l.faults([]string{"http://127.0.0.1:1/"})
	var said []string
	for _, err := range faults {
		said = append(said, err.Error())
	}
	want := `assertion "servce.p99<1s": this load has no servce time; use response, response_ok, service, send, on_time, send_delay, schedule_lag, dns, connect, tls, first_byte, client or client_dial`
	if len(said) != 2 || said[0] != want || !strings.Contains(said[1], "no transfer time") {
		t.Errorf("%q, want %q and one about transfer", said, want)
	}
	l.driver.Latencies = nil
	if faults := l.checkLatencies(); faults != nil {
		t.Errorf("of unknown latencies: %v", faults)
	}
	for _, row := range driver.Table() {
		if len(row.New(nil).Latencies()) == 0 {
			t.Errorf("%s does not say which latencies it has", row.Use)
		}
	}
}

package loadcmd

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// sec is a second of 100 operations due, of which some ended, each after 10 ms.
func sec(t float64, ok, failed uint64) takt.Interval {
	h := hist.New()
	for range ok + failed {
		h.Record(10 * time.Millisecond)
	}
	return takt.Interval{T: t, Scheduled: 100, OK: ok, Failed: failed, InFlightMax: 1, HDR: h.Encode(), ServiceHDR: h.Encode()}
}

// slow is a second of 100 operations that ended after 900 ms; 800 ms of it were lag, or service.
func slow(t float64, lag bool) takt.Interval {
	response, service := hist.New(), hist.New()
	response.RecordN(900*time.Millisecond, 100)
	service.RecordN(100*time.Millisecond, 100)
	iv := takt.Interval{T: t, Scheduled: 100, OK: 100, HDR: response.Encode(), ServiceHDR: response.Encode()}
	if lag {
		iv.ServiceHDR, iv.ScheduleLagP99 = service.Encode(), 800e3
	}
	return iv
}

// mixed is a second with some operations of 100 ms, and others of 900 ms.
func mixed(t float64, fast, slow uint64) takt.Interval {
	h := hist.New()
	h.RecordN(100*time.Millisecond, fast)
	h.RecordN(900*time.Millisecond, slow)
	return takt.Interval{T: t, Scheduled: fast + slow, OK: fast + slow, HDR: h.Encode(), ServiceHDR: h.Encode()}
}

// pause is a second in which nothing was due and nothing open.
func silent(t float64) takt.Interval { return takt.Interval{T: t} }

// Which seconds are judged, and what is said of the first that strikes.
func TestGuard(t *testing.T) {
	const s = time.Second
	late := []time.Duration{s, 4 * s, 4 * s, 4 * s, 5 * s} // when the intervals came: 2 s were slept through
	for name, c := range map[string]struct {
		conditions  string
		warmup, end time.Duration
		receives    bool
		came        []time.Duration // nil: each at its end
		intervals   []takt.Interval
		want        string // "": no strike
	}{
		"good":                      {"errors>50% p99>2s", 0, 3 * s, false, nil, []takt.Interval{sec(1, 100, 0), sec(2, 50, 50), sec(3, 100, 0)}, ""},
		"the first that is true":    {"p99>2s errors>50%", 0, 9 * s, false, nil, []takt.Interval{sec(1, 100, 0), sec(2, 30, 70), sec(3, 0, 100)}, "errors>50% was true in second 2 (errors was 70 %)"},
		"chance is no breach":       {"errors>50%", 0, 9 * s, false, nil, []takt.Interval{sec(1, 45, 55), sec(2, 55, 45), sec(3, 45, 55)}, ""},
		"seconds add up":            {"errors>50%", 0, 9 * s, false, nil, []takt.Interval{sec(1, 40, 60), sec(2, 40, 60), sec(3, 40, 60)}, "errors>50% was true in second 2 (errors was 60 %)"},
		"not across a good one":     {"errors>50%", 0, 9 * s, false, nil, []takt.Interval{sec(1, 40, 60), sec(2, 60, 40), sec(3, 40, 60)}, ""},
		"a dead target at 1/s":      {"errors>50%", 0, 99 * s, false, nil, []takt.Interval{sec(1, 0, 1), sec(2, 0, 1), sec(3, 0, 1), sec(4, 0, 1), sec(5, 0, 1), sec(6, 0, 1), sec(7, 0, 1), sec(8, 0, 1), sec(9, 0, 1), sec(10, 0, 1), sec(11, 0, 1), sec(12, 0, 1)}, "errors>50% was true in second 12 (errors was 100 %)"},
		"one slow of ten":           {"p99>500ms", 0, 9 * s, false, nil, []takt.Interval{mixed(1, 9, 1), mixed(2, 10, 0), mixed(3, 9, 1)}, ""},
		"three slow of ten":         {"p99>500ms", 0, 9 * s, false, nil, []takt.Interval{mixed(1, 7, 3)}, "p99>500ms was true in second 1 (p99 was 900ms)"},
		"the first condition":       {"failed>1 errors>50%", 0, 9 * s, false, nil, []takt.Interval{sec(1, 40, 60)}, "failed>1 was true in second 1 (failed was 60)"},
		"a latency":                 {"p99>9ms", 0, 9 * s, false, nil, []takt.Interval{sec(1, 100, 0)}, "p99>9ms was true in second 1 (p99 was 10ms)"},
		"not the warm-up":           {"ok==0", 1500 * time.Millisecond, 9 * s, false, nil, []takt.Interval{sec(1, 0, 0), sec(2, 0, 0), sec(3, 1, 0)}, ""},
		"after the warm-up":         {"ok==0", 1500 * time.Millisecond, 9 * s, false, nil, []takt.Interval{sec(1, 0, 0), sec(2, 0, 0), sec(3, 0, 0)}, "ok==0 was true in second 3 (ok was 0)"},
		"silence has no share":      {"errors>0% errors<1% p99>0", 0, 9 * s, false, nil, []takt.Interval{sec(1, 0, 0)}, ""},
		"silence has a count":       {"ok<1", 0, 9 * s, false, nil, []takt.Interval{sec(1, 0, 0)}, "ok<1 was true in second 1 (ok was 0)"},
		"not the drain":             {"ok==0", 0, 1500 * time.Millisecond, false, nil, []takt.Interval{sec(1, 1, 0), sec(2, 0, 0), sec(3, 0, 0)}, ""},
		"the last second":           {"ok<100", 0, 2 * s, false, nil, []takt.Interval{sec(1, 100, 0), sec(2, 99, 0)}, "ok<100 was true in second 2 (ok was 99)"},
		"the last second, early":    {"ok<100", 0, 2 * s, false, nil, []takt.Interval{sec(1, 100, 0), sec(1.9, 99, 0)}, "ok<100 was true in second 2 (ok was 99)"},
		"a part of a second":        {"ok<100", 0, 9 * s, false, nil, []takt.Interval{sec(1, 100, 0), sec(1.9, 99, 0)}, ""},
		"a part, end not known":     {"ok<100", 0, -1, false, nil, []takt.Interval{sec(1, 100, 0), sec(1.9, 99, 0)}, ""},
		"end not known":             {"ok<100", 0, -1, false, nil, []takt.Interval{sec(1, 100, 0), sec(2, 99, 0)}, "ok<100 was true in second 2 (ok was 99)"},
		"a pause":                   {"ok==0", 0, 9 * s, false, nil, []takt.Interval{silent(1), silent(2)}, ""},
		"a pause, and one early":    {"ok==0", 0, 9 * s, false, nil, []takt.Interval{sec(1, 100, 0), {T: 2, InFlightMax: 1}, {T: 3, InFlightMax: 1}}, ""},
		"answered before it is due": {"ok==0", 0, 9 * s, false, nil, []takt.Interval{sec(1, 101, 0), {T: 2, Scheduled: 1}}, ""},
		"an answer is missing":      {"ok==0", 0, 9 * s, false, nil, []takt.Interval{sec(1, 99, 0), {T: 2, InFlightMax: 1}}, "ok==0 was true in second 2 (ok was 0)"},
		"takt itself was late":      {"p99>500ms", 0, 9 * s, false, nil, []takt.Interval{slow(1, true)}, ""},
		"and the target was slow":   {"p99>50ms", 0, 9 * s, false, nil, []takt.Interval{slow(1, true)}, "p99>50ms was true in second 1 (p99 was 900ms)"},
		"only the target was slow":  {"p99>500ms", 0, 9 * s, false, nil, []takt.Interval{slow(1, false)}, "p99>500ms was true in second 1 (p99 was 900ms)"},
		"a consumer hears nothing":  {"ok==0", 0, -1, true, nil, []takt.Interval{silent(1)}, "ok==0 was true in second 1 (ok was 0)"},
		"the generator stood still": {"ok==0", 0, 9 * s, false, late, []takt.Interval{sec(1, 9, 0), sec(2, 0, 0), sec(3, 0, 0), sec(4, 0, 0), sec(5, 9, 0)}, ""},
		"and goes on":               {"ok==0", 0, 9 * s, false, late, []takt.Interval{sec(1, 9, 0), sec(2, 0, 0), sec(3, 0, 0), sec(4, 0, 0), sec(5, 0, 0)}, "ok==0 was true in second 5 (ok was 0)"},
	} {
		conditions, _, faults := parseConditions(strings.Fields(c.conditions), false, nil)
		if faults != nil {
			t.Fatal(faults)
		}
		var struck []string
		g := &guard{
			conditions: conditions, warmup: c.warmup, end: c.end, receives: c.receives,
			strike: func(e *abortError) { struck = append(struck, e.Error()) },
		}
		for i, iv := range c.intervals {
			came := time.Duration(iv.T * float64(s))
			if c.came != nil {
				came = c.came[i]
			}
			if g.interval(iv, nil, time.Unix(0, int64(came))); len(struck) > 0 {
				break
			}
		}
		want := fmt.Sprint([]string{"aborted: " + c.want}[:min(1, len(c.want))])
		if got := fmt.Sprint(struck); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestParseConditions(t *testing.T) {
	list, overload, faults := parseConditions([]string{"errors>50%, overload", "overload"}, false, nil)
	if len(list) != 1 || !overload || faults != nil {
		t.Errorf("%v %v %v", list, overload, faults)
	}
	_, overload, faults = parseConditions([]string{"errors>50%", "p98>1s", "unfinished>1", "rate<5%"}, true, nil)
	want := []string{
		`bad --abort-on: assertion "p98>1s": unknown metric`,
		`bad --abort-on: condition "unfinished>1": `,
		`bad --abort-on: condition "rate<5%": a closed loop has no intended rate`,
	}
	if overload || len(faults) != len(want) {
		t.Fatal(faults)
	}
	for i, err := range faults {
		if !strings.HasPrefix(err.Error(), want[i]) {
			t.Errorf("%v, want %s", err, want[i])
		}
	}
}

// Where --strict and --abort-on stand among the reasons for an exit code.
func TestOutcomeOfJudgements(t *testing.T) {
	struck, cancel := context.WithCancelCause(t.Context())
	cancel(&abortError{"ok<1", 2, "ok was 0"})
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(&core.SignalError{Number: 15})
	after, cancel := context.WithCancelCause(interrupted)
	cancel(&abortError{"ok<1", 2, "ok was 0"})
	valid := takt.Report{Counts: takt.Counts{Scheduled: 2, OK: 1, Failed: 1}, Verdict: takt.Valid}
	invalid, none := valid, takt.Report{Counts: takt.Counts{Scheduled: 2, Failed: 2}, Verdict: takt.Valid}
	invalid.Verdict = takt.Invalid
	for _, c := range []struct {
		name       string
		ctx        context.Context
		report     takt.Report
		strict     bool
		conditions int
		code       int
		says       string
	}{
		{"strict and valid", t.Context(), valid, true, 0, core.ExitOK, ""},
		{"strict and invalid", t.Context(), invalid, true, 0, core.ExitInvalid, "takt: the run is invalid, so it proves nothing"},
		{"not strict and invalid", t.Context(), invalid, false, 0, core.ExitOK, ""},
		{"a condition that did not strike", t.Context(), valid, false, 1, core.ExitOK, ""},
		{"and an invalid run", t.Context(), invalid, false, 1, core.ExitInvalid, "takt: the run is invalid, so it proves nothing"},
		{"a condition that struck", struck, valid, false, 1, core.ExitAssertion, ""},
		{"invalid goes before it", struck, invalid, false, 1, core.ExitInvalid, "takt: the run is invalid, so it proves nothing"},
		{"no success goes before it", struck, none, true, 1, core.ExitFailed, "takt: not one operation succeeded"},
		{"a signal before it goes before it", after, valid, true, 1, 143, ""},
	} {
		var errs bytes.Buffer
		l := &load{requirements: core.Requirements{Strict: c.strict}, aborts: make([]string, c.conditions)}
		got := core.Env{Stderr: &errs}.Exit(l.outcome(c.ctx, &c.report, nil))
		if got != c.code || !strings.HasPrefix(errs.String(), c.says) || c.says == "" && errs.Len() > 0 {
			t.Errorf("%s: exit code %d, want %d, %q", c.name, got, c.code, &errs)
		}
	}
}

// The warning of a run that was stopped names what the user did: q is a SIGINT inside.
func TestNoteOfTheEnd(t *testing.T) {
	for want, c := range map[string]struct {
		number int
		key    bool
	}{
		"stopped by SIGINT": {2, false}, "stopped by q": {2, true}, "stopped by SIGTERM": {15, true},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		l := &load{engine: engine.Defaults(), env: core.Env{Quit: func() {}}}
		l.engine.Duration = time.Minute
		if c.key {
			l.quit()()
		}
		cancel(&core.SignalError{Number: c.number})
		r := takt.Report{DurationS: 1}
		l.noteEnd(ctx, &r)
		if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0].Message, "the run was "+want+" after 1.0 s") {
			t.Errorf("%v, want %s", r.Warnings, want)
		}
	}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(&core.SignalError{Number: 2})
	l := &load{engine: engine.Defaults()}
	l.engine.Warmup, l.engine.Rate = 2*time.Second, engine.PerSecond(100)
	for r, cut := range map[*takt.Report]bool{{WarmupS: 2, DurationS: 0.3}: false, {WarmupS: 2, DurationS: 0.299999999}: true, {WarmupS: 1.5}: true} {
		l.engine.Requests = 30
		if l.noteEnd(over, r); r.Warned("cancelled") != cut {
			t.Errorf("a signal after %v s of 0.3 s: %v", r.DurationS, r.Warnings)
		}
	}
	if new(load).quit() != nil {
		t.Error("there is a key that does nothing")
	}
}

package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// What the generator used of its host makes a run invalid only when the rate was not reached,
// and never a closed loop.
func TestHost(t *testing.T) {
	const s = time.Second
	busy := Host{CPU: 0.95, Idle: 0.01, Wall: 10 * s}
	starved := Host{CPU: 0.1, Idle: 0.4, Ran: s, Waited: 6 * s, Wall: 10 * s}
	told := starved
	told.Told = true
	closed := busy
	closed.Closed = true
	for name, c := range map[string]struct {
		h        Host
		achieved float64
		invalid  bool
		warned   bool
	}{
		"idle":                         {Host{CPU: 0.1, Idle: 0.8, Wall: 10 * s}, 50, false, false},
		"busy, rate reached":           {busy, 99.5, false, false},
		"busy":                         {busy, 90, true, true},
		"a third of a full machine":    {Host{CPU: 0.4, Idle: 0.01}, 90, true, true},
		"a third of an idle machine":   {Host{CPU: 0.4, Idle: 0.3}, 90, false, false},
		"a quota":                      {Host{Throttled: 2 * s, Wall: 10 * s}, 90, true, true},
		"a short quota":                {Host{Throttled: s / 2, Wall: 10 * s}, 90, false, false},
		"no core":                      {starved, 90, true, true},
		"no core, and operations tell": {told, 90, false, false},
		"a loop that never rests":      {Host{Loops: 1, Worked: 0.95}, 99.9, true, true},
		"a loop that rests":            {Host{Loops: 1, Worked: 0.85}, 99.9, false, false},
		"a busy closed loop":           {closed, 90, false, true},
	} {
		r := &takt.Report{Verdict: takt.Valid, Rate: takt.Rate{Achieved: c.achieved}, Counts: takt.Counts{Scheduled: 100}}
		if intended := 100.0; !c.h.Closed {
			r.Rate.Intended = &intended
		}
		c.h.Judge(r)
		if (r.Verdict == takt.Invalid) != c.invalid || r.Warned("generator_saturated") != c.warned {
			t.Errorf("%s: %s, %+v", name, r.Verdict, r.Warnings)
		}
	}
}

// Just above each bound the host is named, and the run stays valid.
func TestHostDisturbed(t *testing.T) {
	for want, c := range map[takt.WarningCode]struct{ at, above Host }{
		"steal":       {Host{Stolen: 0.02}, Host{Stolen: 0.021}},
		"throttled":   {Host{Quota: 0.01}, Host{Quota: 0.011}},
		"retransmits": {Host{Resent: 9}, Host{Resent: 10}},
		"gc":          {Host{GCPauseMax: time.Millisecond}, Host{GCPauseMax: time.Millisecond + 1}},
	} {
		at, above := &takt.Report{Verdict: takt.Valid}, &takt.Report{Verdict: takt.Valid}
		c.at.Judge(at)
		c.above.Judge(above)
		if at.Warnings != nil || len(above.Warnings) != 1 || !above.Warned(want) || above.Verdict != takt.Valid {
			t.Errorf("%s: %+v, above: %s, %+v", want, at.Warnings, above.Verdict, above.Warnings)
		}
	}
}

// Each rule makes a run invalid, and has a reason for the first line of its report.
func TestOperations(t *testing.T) {
	punctual, late := hist.New(), hist.New()
	punctual.RecordN(0, 1000)
	late.RecordN(0, 980)
	late.RecordN(50*time.Millisecond, 20)
	response := hist.New()
	response.RecordN(2*time.Millisecond, 1000)
	var many Drops
	many.Add(50*time.Millisecond, 20)
	sum := takt.Counts{Scheduled: 1000, OK: 1000}
	good := Operations{Delays: Delays{OnTime: response, Lag: punctual}}
	for code, change := range map[takt.WarningCode]func(o *Operations, r *takt.Report){
		"":                     func(*Operations, *takt.Report) {},
		"accounting":           func(_ *Operations, r *takt.Report) { r.Counts.OK-- },
		"generator_bottleneck": func(o *Operations, _ *takt.Report) { o.Lag = late },
		"generator_backlog":    func(o *Operations, _ *takt.Report) { o.Behind = many },
		"generator_behind":     func(o *Operations, _ *takt.Report) { o.Unsent = 11 },
		"generator_held":       func(o *Operations, r *takt.Report) { r.Rate.Achieved, o.Queued = 50, Held{1, 2} },
		"host_limit": func(_ *Operations, r *takt.Report) {
			r.Errors = []takt.ErrorClass{{Class: ClassFiles, Count: 10}}
		},
	} {
		o, intended := good, 100.0
		r := &takt.Report{Counts: sum, Rate: takt.Rate{Achieved: 100, Intended: &intended}}
		change(&o, r)
		o.Judge(r)
		if want := code != ""; (r.Verdict == takt.Invalid) != want || want && !r.Warned(code) {
			t.Errorf("%q: %s, %+v", code, r.Verdict, r.Warnings)
		}
	}
	// Seven late operations and seven behind them are more than 1 %.
	few, both := hist.New(), good
	few.RecordN(0, 993)
	few.RecordN(50*time.Millisecond, 7)
	var behind Drops
	behind.Add(50*time.Millisecond, 7)
	both.Lag, both.Behind = few, behind
	intended := 100.0
	r := &takt.Report{Counts: sum, Rate: takt.Rate{Achieved: 100, Intended: &intended}}
	if both.Judge(r); r.Verdict != takt.Invalid || !r.Warned("generator_backlog") || r.Warned("generator_bottleneck") {
		t.Errorf("late ones and those behind them: %s, %+v", r.Verdict, r.Warnings)
	}
	// No operation is counted twice in the sentence.
	var waiting Drops
	waiting.Add(time.Second, sum.Scheduled)
	both.Lag, both.Behind = late, waiting
	r = &takt.Report{Counts: sum, Rate: takt.Rate{Achieved: 100, Intended: &intended}}
	both.Judge(r)
	if i := slices.IndexFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == "generator_backlog" }); i < 0 || !strings.Contains(r.Warnings[i].Message, fmt.Sprintf("%d of %[1]d operations", sum.Scheduled)) {
		t.Errorf("all are late, and wait: %+v", r.Warnings)
	}
	// A closed loop is never late.
	o, r := good, &takt.Report{Counts: sum}
	o.Closed, o.Lag, o.Behind = true, late, many
	if o.Judge(r); r.Verdict != takt.Valid || !slices.ContainsFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == "closed_loop" }) {
		t.Errorf("closed: %s, %+v", r.Verdict, r.Warnings)
	}
}

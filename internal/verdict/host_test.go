package verdict

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// The reason of an invalid run says what kept the generator from its CPU, with the figure, in the place of
// general advice.
func TestHostExplains(t *testing.T) {
	const s, wall = time.Second, 40 * time.Second
	for name, c := range map[string]struct {
		h    Host
		want string
	}{
		"nothing":          {Host{Wall: wall, Waited: 4 * s, Throttled: 4 * s, Stolen: 0.1}, "; lower the rate, free the CPU, or spread the run with --shard"},
		"it waited":        {Host{Wall: wall, Waited: 36 * s, Ran: 3 * s, Throttled: 5 * s}, ": its threads waited for a core for 36s in all, and ran for 3s; free the CPU"},
		"it was throttled": {Host{Wall: wall, Waited: 5 * s, Throttled: 30 * s, Stolen: 0.5}, ": the CPU quota of its cgroup held it back for 30s; raise the quota"},
		"it was stolen":    {Host{Wall: wall, Waited: 5 * s, Stolen: 0.5}, ": the hypervisor took 50.0 % of the CPU time away; run takt on another machine"},
	} {
		r := &takt.Report{}
		Invalidate(r, "generator_bottleneck", "the generator was late by %v; %s", takt.Time("late", s), remedy)
		r.Warn("gc", "it paused; lower the rate")
		c.h.explain(r)
		if got, want := r.Warnings[0].Message, "the generator was late by 1s"+c.want; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if w := r.Warnings[0]; !strings.HasSuffix(w.Message, "; "+w.Advice) || w.Fields[0].Name != "late" || (len(w.Fields) > 1) != strings.HasPrefix(c.want, ":") {
			t.Errorf("%s: %+v", name, w)
		}
		if got := r.Warnings[1].Message; got != "it paused; lower the rate" {
			t.Errorf("%s: another warning says %q", name, got)
		}
	}
}

// A target that answers nothing is no fault of a generator without CPU: there was nothing to read late.
func TestSilentTarget(t *testing.T) {
	intended, starved := 100.0, Host{Waited: 6 * time.Second, Ran: time.Second, Wall: 10 * time.Second}
	for name, c := range map[string]struct {
		counts takt.Counts
		status map[string]uint64
		want   bool
	}{
		"silent":           {takt.Counts{Scheduled: 1000, Sent: 20, Unfinished: 1000}, nil, false},
		"each timed out":   {takt.Counts{Scheduled: 1000, Sent: 1000, Failed: 1000}, nil, false},
		"it answers":       {takt.Counts{Scheduled: 1000, Sent: 20, OK: 1, Unfinished: 999}, nil, true},
		"it answers 503":   {takt.Counts{Scheduled: 1000, Sent: 20, Failed: 1, Unfinished: 999}, map[string]uint64{"503": 1}, true},
		"nothing was sent": {takt.Counts{Scheduled: 1000, Unfinished: 1000}, nil, true},
	} {
		r := &takt.Report{Verdict: takt.Valid, Counts: c.counts, Status: c.status, Rate: takt.Rate{Intended: &intended}}
		starved.Judge(r)
		if got := r.Verdict == takt.Invalid; got != c.want || got && !strings.Contains(r.Warnings[0].Message, "its threads waited for a core for 6s in all, and ran for 1s, and 0.0 % of the rate") {
			t.Errorf("%s: %s %+v", name, r.Verdict, r.Warnings)
		}
	}
}

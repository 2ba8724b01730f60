package engine_test

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// told is an interval of n operations that ended successfully and one that failed.
func told(end float64, n int, warmup bool) takt.Interval {
	response, service := hist.New(), hist.New()
	response.RecordN(2*time.Millisecond, uint64(n)+1)
	service.RecordN(time.Millisecond, uint64(n)+1)
	good, ttft := uint64(n)/2, hist.New()
	ttft.RecordN(500*time.Microsecond, uint64(n))
	latency := map[string]takt.Course{"ttft": {HDR: ttft.Encode()}}
	if warmup {
		good, latency = 0, nil
	}
	return takt.Interval{
		Good: &good, Latency: latency,
		T: end, Warmup: warmup, Scheduled: uint64(n) + 1, OK: uint64(n), Failed: 1, InFlightMax: n,
		HDR: response.Encode(), ServiceHDR: service.Encode(), ScheduleLagP99: 50,
		Errors: map[string]uint64{"timeout": 1},
	}
}

// The journal of a run that others make has the counts and times of all its intervals, without those of
// the warm-up, also if a second is missing, and if the file was begun anew.
func TestTold(t *testing.T) {
	for anew := range 5 {
		n := &notes{t: t, all: anew}
		run, err := engine.Tell(n, engine.Beginning{Config: record.Config{Warmup: time.Second, Window: 6 * time.Second, Goal: "ttft<1s", Timed: []takt.Timed{{Name: "gap"}, {Name: "ttft", Row: true, Course: true}}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, iv := range []takt.Interval{told(1, 1000, true), told(2, 100, false), told(3, 200, false), told(5, 300, false), told(5.96, 400, false)} {
			if err := run.Interval(iv, []takt.ErrorClass{{Class: "timeout", Count: 7, Sample: "no answer"}}); err != nil {
				t.Fatal(err)
			}
		}
		if len(n.seconds) != 6 {
			t.Fatalf("%d seconds, want 6", len(n.seconds))
		}
		rep := n.recover(6)
		want := takt.Counts{Scheduled: 1004, Sent: 1004, OK: 1000, Failed: 4}
		if rep.Counts != want || rep.WarmupCounts.OK != 1000 {
			t.Errorf("%+v, and %+v in the warm-up", rep.Counts, rep.WarmupCounts)
		}
		if l := rep.Latency[takt.LatencyResponse]; l.Count != 1004 || l.P50 < 1990 || l.P50 > 2010 {
			t.Errorf("response time %+v", l)
		}
		if l, g := rep.Latency["ttft"], rep.Goodput; l.Count != 1000 || l.P50 < 499 || l.P50 > 501 || g == nil || g.Good != 500 || rep.Intervals[1].Latency["ttft"].P99 < 499 {
			t.Errorf("first tokens %+v, goodput %+v, intervals %+v", l, g, rep.Intervals)
		}
		if l := rep.Latency[takt.LatencyService]; l.Count != 1004 || l.P50 > 1010 {
			t.Errorf("service time %+v", l)
		}
		for _, name := range []string{takt.LatencyResponseOK, takt.LatencyScheduleLag, takt.LatencySendDelay} {
			if _, known := rep.Latency[name]; known {
				t.Errorf("the intervals do not say %s", name)
			}
		}
		if len(rep.Errors) != 1 || rep.Errors[0] != (takt.ErrorClass{Class: "timeout", Count: 4, Sample: "no answer"}) {
			t.Errorf("failures %+v", rep.Errors)
		}
		if len(rep.Intervals) != 6 || rep.Intervals[3].Scheduled != 0 || rep.Intervals[5].OK != 400 || rep.Intervals[5].ScheduleLagP99 < 49 {
			t.Errorf("%d intervals: %+v", len(rep.Intervals), rep.Intervals)
		}
		if got := rep.Rate.Achieved; got < 1004/4.97 || got > 1004/4.95 {
			t.Errorf("achieved %v/s", got)
		}
	}
}

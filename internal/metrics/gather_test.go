package metrics

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Each batch has a millisecond of its own, also if the last interval of the run is shorter than one:
// Prometheus refuses a second value for one instant.
func TestInstantsDiffer(t *testing.T) {
	g := newGatherer(&Pump{begun: time.Unix(1_800_000_000, 999_700_000)})
	list := []*Batch{g.batch(&second{Interval: takt.Interval{T: 1}}), g.batch(&second{Interval: takt.Interval{T: 2}}), g.batch(&second{Interval: takt.Interval{T: 2.0001}}), g.batch(&second{Interval: takt.Interval{T: 2.0002}}), g.last(&takt.Report{})}
	if to := list[1].To; !to.Equal(g.begun.Add(2 * time.Second)) {
		t.Errorf("the second second ends at %v", to)
	}
	for i, b := range list[1:] {
		if before := list[i].Instant(); b.Instant().UnixMilli() <= before.UnixMilli() || b.Instant().Sub(before) > time.Second {
			t.Errorf("batch %d is of %v, the one before of %v", i+1, b.Instant(), before)
		}
	}
}

// Latencies of parts of answers add up by name, and no name of a fleet's member breaks the names of receivers.
func TestLatenciesOfParts(t *testing.T) {
	hdr := func(list ...time.Duration) string {
		h := hist.New()
		for _, d := range list {
			h.Record(d)
		}
		return h.Encode()
	}
	one, two := uint64(1), uint64(2)
	g := newGatherer(&Pump{begun: time.Unix(1_800_000_000, 0)})
	g.batch(&second{Interval: takt.Interval{T: 1, Good: &two, Latency: map[string]takt.Course{"ttft": {HDR: hdr(100*time.Millisecond, 200*time.Millisecond)}}}})
	g.batch(&second{Interval: takt.Interval{T: 2}})
	b := g.batch(&second{Interval: takt.Interval{T: 3, Good: &one, Latency: map[string]takt.Course{"ttft": {HDR: hdr(300 * time.Millisecond)}, "a b\"{": {HDR: hdr(time.Millisecond)}}}})
	if n := b.Total.Timed["ttft"].Count(); n != 3 || b.Last.Timed["ttft"].Count() != 1 || *b.Total.Good != 3 {
		t.Errorf("%d first tokens in all, %d in the second, %d good", n, b.Last.Timed["ttft"].Count(), *b.Total.Good)
	}
	points := map[string]float64{}
	for _, f := range Families(b) {
		for _, p := range f.Points {
			key := f.Name
			for _, l := range p.Labels {
				key += " " + l.Value
			}
			points[key] = p.Value + float64(p.Histogram.Count())
		}
	}
	for key, want := range map[string]float64{"takt_latency_seconds ttft": 3, "takt_latency_seconds a_b__": 1, "takt_latency_recent_seconds ttft p99": 0.3, "takt_good_operations": 3} {
		if got := points[key]; math.Abs(got-want) > 1e-3 {
			t.Errorf("%s is %v; want %v", key, got, want)
		}
	}
	var names []string
	for _, l := range b.Last.Latencies() {
		names = append(names, l.Name)
	}
	if !slices.Equal(names, []string{"a_b__", "ttft"}) {
		t.Errorf("the latencies of the second are %q", names)
	}
}

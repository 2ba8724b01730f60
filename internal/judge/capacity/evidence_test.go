package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// station is a queue with first come, first served, of which all servers together do 500/s.
type station struct {
	servers int
	fixed   bool // service times are all alike; else exponential
}

// step is one of n operations, after a tenth as many of warm-up.
func (s station) step(r *rand.Rand, rate float64, n int) Step {
	times, seconds := s.times(r, rate, n)
	mean, _ := stats.MeanAndSD(times)
	slices.Sort(times)
	p95 := times[int(math.Ceil(0.95*float64(n)))-1]
	return Step{Offered: rate, Achieved: float64(n) / seconds, Verdict: takt.Valid, Response: StepLatency{Mean: mean, P95: p95}}
}

// times are the response times of these operations, µs, and how long they took together.
func (s station) times(r *rand.Rand, rate float64, n int) (times []float64, seconds float64) {
	free := make([]float64, s.servers)
	var now, from, last float64
	for i := range n + n/10 {
		if i == n/10 {
			from = now
		}
		now += r.ExpFloat64() / rate
		service := float64(s.servers) / 500
		if !s.fixed {
			service *= r.ExpFloat64()
		}
		first := 0
		for j := range free {
			if free[j] < free[first] {
				first = j
			}
		}
		free[first] = max(now, free[first]) + service
		if last = max(last, free[first]); i >= n/10 {
			times = append(times, (free[first]-now)*1e6)
		}
	}
	return times, last - from
}

// contradictions are the words of an answer that what was measured refutes, or that nothing
// proves.
func contradictions(a Answer) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	var most float64
	for _, s := range a.Steps {
		most = max(most, s.Achieved)
	}
	i := a.Interval
	if a.Confidence > 0 && (i.Low == nil || i.High == nil || *i.Low <= 0 || a.Sustainable < *i.Low || a.Sustainable > *i.High) {
		say("%v/s with %v", a.Sustainable, i)
	}
	if a.Confidence == 0 && a.Sustainable > 0 && !slices.ContainsFunc(a.Steps, func(s Step) bool { return s.Offered == a.Sustainable }) {
		say("%v/s was never tried, and no interval proves it", a.Sustainable)
	}
	if m := a.Machines; m != nil && (m.High < m.Count || m.Low > m.Count) {
		say("%+v", *m)
	}
	if u := a.USL; u != nil && u.Peak != nil && (*u.Peak < most || u.Interval.Low == nil || *u.Interval.Low < most || *u.Interval.High < *u.Peak) {
		say("at most %v/s, and %v/s were achieved", *u.Peak, most)
	}
	return list
}

// Whatever a search finds, and however early it ends, no figure is without evidence, and none
// is refuted by a step; intervals hold the truth about as often as they say.
func TestCapacityIsProven(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	slo := slo(t, "p95<50ms")
	for name, c := range map[string]struct {
		station station
		law     bool // the universal scalability law is that of the station
	}{
		"M/M/1":      {station{servers: 1}, true},
		"M/M/4":      {station{servers: 4}, false},
		"500/s hard": {station{servers: 1, fixed: true}, false},
	} {
		truth := c.station.limit(50e3)
		given, held, peaks, right := 0, 0, 0, 0
		for seed := range uint64(120) {
			r := rand.New(rand.NewPCG(seed, 7))
			s := DefaultSearch()
			s.Start, s.Repeats = 20+300*r.Float64(), 1+r.IntN(3)
			length := 200 << r.IntN(6)
			if r.IntN(2) == 0 {
				s.Steps = 2 + r.IntN(8)
			}
			all, ended := searched(t, s, func(rate float64, _ int) Step {
				step := c.station.step(r, rate, length)
				step.Margin, step.Nearest = margin(slo[0], step.Response.P95), "p95<50ms"
				step.Met = step.Margin < 0
				return step
			})
			a := Conclude(all, slo, ended, 1000)
			for _, wrong := range contradictions(a) {
				t.Errorf("%s, seed %d, %d operations a step: %s", name, seed, length, wrong)
			}
			if a.Confidence > 0 && length >= 3200 { // shorter steps see no steady state
				given++
				if *a.Interval.Low <= truth && truth <= *a.Interval.High {
					held++
				}
			}
			if u := a.USL; u != nil && u.Peak != nil && length >= 3200 {
				peaks++
				if *u.Interval.Low <= 500*1.01 && *u.Interval.High >= 500*0.99 {
					right++
				}
			}
		}
		t.Logf("%s: %d of %d intervals hold %.1f/s; %d of %d intervals of the law's peak hold 500/s", name, held, given, truth, right, peaks)
		if given < 10 || held < given*80/100 {
			t.Errorf("%s: %d of %d intervals hold %.1f/s", name, held, given, truth)
		}
		if c.law && (peaks < 5 || right < peaks*80/100) {
			t.Errorf("%s: %d of %d intervals of the peak hold 500/s", name, right, peaks)
		}
	}
}

// limit is the rate at which p95 reaches that many µs, of a simulation of 400 000
// operations at each rate.
func (s station) limit(us float64) float64 {
	low, high := 100.0, 500.0
	for range 12 {
		rate := (low + high) / 2
		if s.step(rand.New(rand.NewPCG(1, 1)), rate, 400_000).Response.P95 < us {
			low = rate
		} else {
			high = rate
		}
	}
	return low
}

// One valid step, and one that broke far above it, prove no figure between them.
func TestCapacityOfOneStep(t *testing.T) {
	held := Step{Offered: 100, Achieved: 100, Verdict: takt.Valid, Margin: 1 - mostOver, Met: true, Nearest: "p95<50ms"}
	broke := Step{Offered: 800, Achieved: 500, Verdict: takt.Valid, Margin: worst, Nearest: "p95<50ms"}
	for name, steps := range map[string][]Step{
		"one each": {held, broke}, "three of each, which agree": {held, held, held, broke, broke, broke}, "scattered": {held, held, broke, {Offered: 100, Achieved: 100, Verdict: takt.Valid, Margin: -0.1, Met: true, Nearest: "p95<50ms"}},
	} {
		a := Conclude(steps, slo(t, "p95<50ms"), EndSteps, 1000)
		if a.Sustainable != 100 || a.Confidence != 0 || *a.Interval.Low != 100 || *a.Interval.High != 800 || *a.Machines != (Machines{10, 2, 10, 14}) {
			t.Errorf("%s: %v in %v–%v, machines %+v", name, a.Sustainable, *a.Interval.Low, *a.Interval.High, a.Machines)
		}
	}
}

// A margin is above 0 if and only if the assertion does not hold, also at its bound.
func TestMarginAtTheBound(t *testing.T) {
	for _, bound := range []float64{0, 1} {
		for _, op := range []string{"<", "<=", ">", ">="} {
			a := assert.Assertion{Op: op, Bound: bound}
			for _, v := range []float64{0, 0.5, 1, 2} {
				if m := margin(a, v); (m > 0) == a.Holds(v) {
					t.Errorf("%v %s %v: margin %v", v, op, bound, m)
				}
			}
		}
	}
}

package capacity

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// model is a target in virtual time: a step takes no time of the wall clock.
type model interface {
	// play offers that rate for n operations, after a tenth as many of warm-up.
	play(r *rand.Rand, rate float64, n int) played
}

// played is what came of the operations of a step.
type played struct {
	response []float64 // µs
	failed   int
	seconds  float64 // until the last answer
}

// report is that of the step, as far as the SLO and the curve need it.
func (p played) report() *takt.Report {
	mean, _ := stats.MeanAndSD(p.response)
	slices.Sort(p.response)
	at := func(q float64) float64 { return p.response[int(math.Ceil(q*float64(len(p.response))))-1] }
	n := uint64(len(p.response))
	l := takt.Latency{Count: n, Mean: mean, P50: at(0.5), P95: at(0.95), P99: at(0.99), P99_9: at(0.999)}
	return &takt.Report{
		Verdict: takt.Valid, Rate: takt.Rate{Achieved: float64(n) / p.seconds},
		Counts:  takt.Counts{Scheduled: n, Sent: n, OK: n - uint64(p.failed), Failed: uint64(p.failed)},
		Latency: map[string]takt.Latency{takt.LatencyResponse: l, takt.LatencyService: l},
	}
}

func (s station) play(r *rand.Rand, rate float64, n int) played {
	times, seconds := s.times(r, rate, n)
	return played{response: times, seconds: seconds}
}

// limiter answers at once, and refuses what is above its rate: tokens come at that rate into
// a bucket.
type limiter struct{ perS, bucket float64 }

func (m limiter) play(r *rand.Rand, rate float64, n int) (p played) {
	tokens := m.bucket
	for i := range n + n/10 {
		gap := r.ExpFloat64() / rate
		tokens = min(m.bucket, tokens+gap*m.perS)
		refused := tokens < 1
		if !refused {
			tokens--
		}
		if i < n/10 {
			continue
		}
		p.seconds += gap
		p.response = append(p.response, 1000+200*r.Float64())
		if refused {
			p.failed++
		}
	}
	return p
}

// collapsing is a server that does less the more it has to do, by the universal scalability
// law; the operations are served in order.
type collapsing struct{ law USL }

func (m collapsing) play(r *rand.Rand, rate float64, n int) (p played) {
	var now, start float64
	var waiting []float64 // when they arrived
	next, head, seen := r.ExpFloat64()/rate, 0, 0
	for len(p.response) < n {
		busy := len(waiting) - head
		done := math.Inf(1)
		if busy > 0 { // exponential, so it may be drawn anew after each arrival
			done = now + r.ExpFloat64()/m.law.At(float64(busy))
		}
		if next < done && seen < n+n/10 {
			now = next
			next += r.ExpFloat64() / rate
			if seen++; seen == n/10 {
				start = now
			}
			waiting = append(waiting, now)
			continue
		}
		now = done
		if head++; head > n/10 {
			p.response = append(p.response, (now-waiting[head-1])*1e6)
		}
	}
	p.seconds = now - start
	return p
}

// modelLimit is the rate at which the mean margin of steps of that length is 0.
func modelLimit(t *testing.T, m model, slo SLO, low, high float64, n, steps int) float64 {
	t.Helper()
	for range 10 {
		rate := (low + high) / 2
		r := rand.New(rand.NewPCG(4, 4))
		var all []Step
		for range steps {
			s, err := StepOf(m.play(r, rate, n).report(), rate, slo)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		if levelsOf(all)[0].margin < 0 {
			low = rate
		} else {
			high = rate
		}
	}
	return (low + high) / 2
}

// machine disturbs steps: the generator is the bottleneck in some, the hypervisor takes the
// CPU in others. A disturbed step looks bad.
type machine struct{ invalid, stolen float64 }

func (d machine) disturb(r *rand.Rand, s *Step) {
	switch {
	case r.Float64() < d.invalid:
		s.Verdict, s.Met, s.Margin = takt.Invalid, false, worst
	case r.Float64() < d.stolen:
		s.Stolen, s.Met, s.Margin = 20, false, worst
	}
}

var capacitySearches = flag.Int("capacity-searches", 50, "simulate so many searches of each kind; docs/capacity-methods.md has the shares of 1000")

// Searches in virtual time, of known targets: the interval holds the true limit in nine of ten
// searches, also with a budget and on a machine that disturbs steps.
func TestCapacityModels(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	const mu = 500.0
	slo := slo(t, "p95<50ms")
	law := USL{Gamma: 250, Sigma: 0.45, Kappa: 0.0002}
	for name, c := range map[string]struct {
		model  model
		truth  float64 // 0: of a simulation
		budget int     // steps; 0: none
		on     machine
	}{
		"M/M/1":                     {station{servers: 1}, mu - math.Log(20)/0.05, 0, machine{}},
		"M/M/4":                     {station{servers: 4}, 0, 0, machine{}},
		"429 limiter":               {limiter{300, 30}, 0, 0, machine{}},
		"collapse":                  {collapsing{law}, 0, 0, machine{}},
		"M/M/1, budget":             {station{servers: 1}, mu - math.Log(20)/0.05, 60, machine{}},
		"M/M/1, budget, disturbed":  {station{servers: 1}, mu - math.Log(20)/0.05, 60, machine{0.2, 0.2}},
		"collapse, budget":          {collapsing{law}, 0, 60, machine{0.2, 0}},
		"429 limiter, small budget": {limiter{300, 30}, 0, 25, machine{0, 0.2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const length = 4000
			searches := *capacitySearches
			truth := c.truth
			if truth == 0 {
				truth = modelLimit(t, c.model, slo, 100, 600, length, 40)
			}
			given, held, below, above, steps, off := 0, 0, 0, 0, 0, 0.0
			endings := map[Ending]int{}
			for seed := range uint64(searches) {
				r := rand.New(rand.NewPCG(seed, 21))
				s := DefaultSearch()
				s.Start = 20 + 100*r.Float64()
				s.Timed, s.Left = c.budget > 0, c.budget
				if s.Timed {
					s.Steps = math.MaxInt
				}
				all, ended := searchedTimed(t, s, func(rate float64) Step {
					step, err := StepOf(c.model.play(r, rate, length).report(), rate, slo)
					if err != nil {
						t.Fatal(err)
					}
					c.on.disturb(r, &step)
					return step
				})
				a := Conclude(all, slo, ended, 0)
				endings[a.Ended]++
				steps += len(all)
				if a.Confidence == 0 {
					continue
				}
				given++
				off += math.Abs(a.Sustainable/truth - 1)
				switch {
				case truth < *a.Interval.Low:
					above++
				case truth > *a.Interval.High:
					below++
				default:
					held++
				}
			}
			t.Logf("%d of %d intervals hold %.1f/s (%d too low, %d too high), off by %.1f %%, %d steps, %v", held, given, truth, below, above, 100*off/float64(given), steps/searches, endings)
			if given < searches*70/100 || held < given*90/100 {
				t.Errorf("%d of %d intervals hold %.1f/s", held, given, truth)
			}
		})
	}
}

// searchedTimed is searched, with what is left of the budget counted in steps.
func searchedTimed(t *testing.T, s Search, target func(rate float64) Step) (steps []Step, ended Ending) {
	t.Helper()
	for budget := s.Left; ; {
		s.Left = budget - len(steps)
		rate, ended := s.Next(steps)
		if ended != "" {
			return steps, ended
		}
		if len(steps) > 200 {
			t.Fatalf("the search does not end: %v", offered(steps[190:]))
		}
		step := target(rate)
		step.Offered = rate
		steps = append(steps, step)
	}
}

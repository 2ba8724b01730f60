package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// slots is a run of takt llm against a model server of 4 slots: a stream occupies one from its start to its end.
func slots(rate float64) Scenario {
	const requests = 4000
	return Scenario{
		Mode: modeLoop, Rate: rate, Poisson: true, Duration: time.Duration(requests / rate * 1e9), Loops: 1, InFlight: 10_000, Room: unbounded,
		Drain: time.Minute, Timeout: time.Minute, ConnectTimeout: time.Minute,
		Service: 4 * time.Millisecond, Workers: 4, Parts: 10, Gap: 500 * time.Microsecond, Model: true,
	}
}

// goodShare is the share of requests to that server that end within goodWithin, without takt and without a network.
func goodShare(rate float64, requests int) float64 {
	sc, rng := slots(rate), rand.New(rand.NewPCG(1, 2))
	upTo := func(d time.Duration) float64 { return rng.Float64() * d.Seconds() }
	free, now, good := make([]float64, sc.Workers), 0.0, 0
	for range requests {
		now += rng.ExpFloat64() / rate
		i := slices.Index(free, slices.Min(free))
		at := max(now, free[i]) + sc.Service.Seconds()/2 + upTo(sc.Service)
		n := 1 + rng.IntN(sc.Parts)
		if rng.IntN(2) == 0 {
			at += upTo(sc.Gap) // headers before the first part
		}
		answered := at
		for part := range n {
			if part == n-1 {
				answered = at // some servers end with the last part
			}
			rest := sc.Gap.Seconds()/2 + upTo(sc.Gap)
			if rng.IntN(50) == 0 {
				rest *= 10
			}
			at += rest
		}
		if rng.IntN(2) == 0 {
			answered = at // and some later
		}
		if free[i] = at; answered-now < goodWithin.Seconds() {
			good++
		}
	}
	return float64(good) / float64(requests)
}

// takt capacity finds the rate at which the goodput of a model server falls below 99 %: within 5 % of the rate by theory.
func TestCapacityByGoodput(t *testing.T) {
	racetest.Skip(t, "60 000 streams take minutes with the race detector")
	low, high := 100.0, 600.0
	for range 12 {
		if middle := (low + high) / 2; goodShare(middle, 300_000) >= 0.99 {
			low = middle
		} else {
			high = middle
		}
	}
	slo, err := capacity.ParseSLO("goodput>=99%")
	if err != nil {
		t.Fatal(err)
	}
	search := capacity.DefaultSearch()
	search.Start = 100
	var steps []capacity.Step
	for {
		rate, ended := search.Next(steps)
		if ended != "" {
			a := capacity.Conclude(steps, slo, ended, 0)
			off := a.Sustainable/low - 1
			t.Logf("%.1f/s found in %d steps, %.1f/s in theory: %+.1f %%", a.Sustainable, len(steps), low, 100*off)
			if ended != capacity.EndFound || math.Abs(off) > 0.05 {
				t.Errorf("%s: %.1f/s, want %.1f/s within 5 %%", ended, a.Sustainable, low)
			}
			return
		}
		r := reportOf(t, slots(rate), uint64(len(steps)+1))
		if r.Verdict != takt.Valid {
			t.Fatalf("%v/s: %s: %v", rate, r.Verdict, r.Warnings)
		}
		step, err := capacity.StepOf(r, rate, slo)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
}

package sim

import (
	"os"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// An engine on a target whose capacity is known: the target is called overloaded if its load is above its
// capacity, and not if it is below, fills up, freezes or dies, or if takt itself was stopped. The target
// serves one operation at a time, 500/s; service times are 1 to 3 ms.
func TestOverload(t *testing.T) {
	const capacity = 500
	seeds := uint64(1)
	if os.Getenv("TAKT_SEEDS") != "" {
		seeds = 20
	}
	at := func(load float64) Scenario {
		return Scenario{
			Rate: load * capacity, Poisson: true, Duration: 12 * time.Second, Loops: 1, InFlight: 10_000, Room: unbounded, Drain: time.Minute,
			Timeout: time.Minute, ConnectTimeout: time.Minute, Service: 2 * time.Millisecond, Workers: 1, Connections: 100, Conns: 4, Streams: 2500,
		}
	}
	rows := []struct {
		name   string
		load   float64
		over   bool
		change func(*Scenario)
	}{
		{"0.9", 0.9, false, nil},
		{"0.98", 0.98, false, nil},
		{"1.1", 1.1, true, func(sc *Scenario) { sc.Duration = 30 * time.Second }}, // 10 s are too short to tell it from chance
		{"1.4", 1.4, true, nil},
		{"0.9, and a freeze of a second", 0.9, false, func(sc *Scenario) { sc.Freezes = []freeze{{4 * time.Second, 5 * time.Second}} }},
		{"0.5, and a target that dies", 0.5, false, func(sc *Scenario) {
			sc.Freezes, sc.Drain = []freeze{{11500 * time.Millisecond, time.Hour}}, time.Second
		}},
		{"a ramp below the capacity", 0, false, func(sc *Scenario) { sc.Stages = "12s@50/s..450/s" }},
		{"bursts", 0, false, func(sc *Scenario) { sc.Stages = "3s@100/s,1s@700/s,3s@100/s,1s@700/s,3s@100/s" }},
		{"a slow target that fills", 2, false, func(sc *Scenario) { sc.Workers, sc.Service, sc.Connections = 5000, 500*time.Millisecond, 1000 }},
		{"takt was stopped", 0.9, false, func(sc *Scenario) { sc.Halts = []freeze{{4 * time.Second, 5 * time.Second}} }},
	}
	for _, mode := range []string{modeLoop, modeWorker, modeH2} {
		for i, r := range rows {
			if (racetest.On || mode == modeWorker) && i%3 != 0 && os.Getenv("TAKT_SEEDS") == "" {
				continue
			}
			t.Run(mode+" "+r.name, func(t *testing.T) {
				t.Parallel()
				for seed := uint64(1); seed <= seeds; seed++ {
					sc := at(r.load)
					if sc.Mode = mode; r.change != nil {
						r.change(&sc)
					}
					rep := reportOf(t, sc, seed)
					if o := overload.Find(rep); (o != nil) != r.over {
						t.Errorf("seed %d: %+v of a target that is overloaded: %v; %s, %v", seed, o, r.over, rep.Verdict, rep.Warnings)
					} else if o != nil && (o.CompletedPerS < 0.9*capacity || o.CompletedPerS > 1.1*capacity) {
						t.Errorf("seed %d: %v/s completed, the capacity is %v", seed, o.CompletedPerS, capacity)
					}
					if !r.over && rep.Verdict != takt.Valid && len(sc.Halts) == 0 {
						t.Errorf("seed %d: %s: %v", seed, rep.Verdict, rep.Warnings)
					}
				}
			})
		}
	}
}

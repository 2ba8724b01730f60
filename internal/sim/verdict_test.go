package sim

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// reportOf is the report of a scenario.
func reportOf(t *testing.T, sc Scenario, seed uint64) *takt.Report {
	t.Helper()
	w := newWorld(&sc, seed)
	var rep *takt.Report
	var err error
	w.run(func() { rep, err = w.load() })
	if err != nil || rep == nil || len(w.report.faults) > 0 {
		t.Fatalf("%v %v", err, w.report.faults)
	}
	return rep
}

// Whose is the time of a run over TLS in which each operation, or the first one, has a handshake? A
// client without enough CPU, or that freezes, makes a run invalid, and the target never does. The
// generator's part is compared with the same run in which nothing disturbs the client.
func TestVerdictsOverTLS(t *testing.T) {
	const ms = time.Millisecond
	quiet := Scenario{
		Rate: 400, Duration: time.Second, Loops: 1, InFlight: 10_000, Room: unbounded, Drain: time.Minute, Timeout: time.Minute, ConnectTimeout: time.Minute,
		Service: 2 * ms, Handshake: 500 * time.Microsecond, Lasts: 1,
	}
	type row struct {
		name    string
		invalid bool
		change  func(*Scenario)
		target  func(*Scenario) // what disturbs the target, with and without change; nil: nothing
	}
	frozen := func(sc *Scenario) { sc.Freezes = []freeze{{300 * ms, 900 * ms}} }
	core := func(sc *Scenario) { sc.Cores = 1 }
	rows := []row{
		{"nothing", false, func(*Scenario) {}, nil},
		{"a target frozen for 600 ms", false, frozen, nil},
		{"a target that is dead from 300 ms on", false, func(sc *Scenario) { sc.Freezes, sc.Drain = []freeze{{300 * ms, time.Hour}}, 100*ms }, nil},
		{"a client halted for 300 ms", true, func(sc *Scenario) { sc.Halts = []freeze{{300 * ms, 600 * ms}} }, nil},
		{"a client halted for 100 ms, 20 connections", true, func(sc *Scenario) { sc.Halts, sc.Connections = []freeze{{300 * ms, 400 * ms}}, 20 }, nil},
		{"a target frozen for 600 ms, 20 connections", false, func(sc *Scenario) { frozen(sc); sc.Connections = 20 }, nil},
		{"a burst and a quota of 15 %", true, func(sc *Scenario) { sc.Stages, sc.Quota = "1s@400/s,5s@5/s", 15*ms }, nil},
		{"a burst without a quota", false, func(sc *Scenario) { sc.Stages = "1s@400/s,5s@5/s" }, nil},
		{"a core", false, core, nil},
		{"a quota of 5 %, connections within 300 ms", true, func(sc *Scenario) { sc.Quota, sc.ConnectTimeout = 5*ms, 300*ms }, nil},
		{"a core, and a target frozen for 600 ms", true, core, frozen}, // the handshakes that waited come at once
		{"a core, and a client halted for 300 ms", true, func(sc *Scenario) { core(sc); sc.Halts = []freeze{{300 * ms, 600 * ms}} }, nil},
		{"a quota of 5 %, cut after 100 ms", true, func(sc *Scenario) { sc.Quota, sc.Drain = 5*ms, 100*ms }, nil},
	}
	for _, percent := range []time.Duration{5, 10, 15, 20} {
		rows = append(rows, row{fmt.Sprintf("a quota of %d %%", percent), true, func(sc *Scenario) { sc.Quota = percent * ms }, nil})
	}
	rows = append(rows, row{"a quota of 0.2 %, 20 connections that stay", true, func(sc *Scenario) { sc.Quota = 200 * time.Microsecond }, func(sc *Scenario) {
		sc.Lasts, sc.Connections, sc.Rate, sc.Duration, sc.Service = 0, 20, 1000, 3*time.Second, ms
	}})
	calms := map[string]func() *takt.Report{} // the run in which nothing disturbs anybody, once for all rows alike
	for _, mode := range []string{modeLoopTLS, modeTLS, modeH2TLS} {
		for i, r := range rows {
			// Workers divide the time of a handshake by the same code as the loop.
			if (racetest.On || mode == modeTLS && os.Getenv("TAKT_SEEDS") == "") && i%3 != 0 {
				continue
			}
			sc := quiet
			if sc.Mode = mode; mode == modeH2TLS {
				sc.Conns, sc.Streams, sc.Lasts = 4, 2500, 0
				sc.Handshake = 0
			}
			if r.target != nil {
				r.target(&sc)
			}
			calm := sc
			r.change(&sc)
			calm.Stages, calm.Connections = sc.Stages, sc.Connections
			key := fmt.Sprint(mode, calm.Stages, calm.Connections, calm.Freezes, calm.Lasts)
			if calms[key] == nil {
				calms[key] = sync.OnceValue(func() *takt.Report { return reportOf(t, calm, 1) })
			}
			undisturbed := calms[key]
			t.Run(mode+": "+r.name, func(t *testing.T) {
				t.Parallel()
				if mode == modeH2TLS && sc.Quota+time.Duration(sc.Cores) > 0 {
					t.Skip("a request over a connection that is there needs hardly any CPU")
				}
				seeds, most := 1, 0.05
				if r.invalid && sc.Drain < quiet.Drain { // at the cut threads are anywhere
					seeds, most = racetest.Some(20), 0.1
				}
				base := undisturbed().Attribution.Whole()
				for seed := uint64(1); seed <= uint64(seeds); seed++ {
					rep := reportOf(t, sc, seed)
					parts := rep.Attribution.Whole()
					got, want := parts.Generator()/parts.Total(), base.Generator()/parts.Total()
					if r.invalid {
						want = 1 - (base.Total()-base.Generator())/parts.Total()
					}
					t.Logf("seed %d: %s, generator %.1f %% of %.1f s, injected %.1f %%: %+v %v", seed, rep.Verdict, 100*got, parts.Total(), 100*want, parts, rep.Warnings)
					if max(got-want, want-got) > most {
						t.Errorf("seed %d: the generator has %.1f %% of the time, injected were %.1f %%", seed, 100*got, 100*want)
					}
					if invalid := rep.Verdict == takt.Invalid; invalid != r.invalid {
						t.Errorf("seed %d: the run is %s: %v", seed, rep.Verdict, rep.Warnings)
					}
				}
			})
		}
	}
}

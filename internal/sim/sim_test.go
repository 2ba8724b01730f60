package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

func TestMain(m *testing.M) {
	if !Available {
		fmt.Println("the simulator runs the loop mode, which is for Linux")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// seeds are the seeds that a test runs: the first few, or those of TAKT_SEEDS, which is a count or, for one of
// several processes, such as 1501-3000.
func seeds(t *testing.T, few int) (from, to uint64) {
	t.Helper()
	s := os.Getenv("TAKT_SEEDS")
	if s == "" {
		return 1, uint64(few)
	}
	first, last, several := strings.Cut(s, "-")
	if !several {
		first, last = "1", s
	}
	from, err := strconv.ParseUint(first, 10, 64)
	if err == nil {
		to, err = strconv.ParseUint(last, 10, 64)
	}
	if err != nil || from > to {
		t.Fatalf("TAKT_SEEDS=%s: write a count, or FROM-TO", s)
	}
	return from, to
}

// The engine breaks no rule in any world. scripts/test runs 15 seeds, CI 3000 and make soak
// 100 000. A seed that fails is shrunk; TAKT_SEED=N with TestSeed shows every call of its threads.
func TestSeeds(t *testing.T) {
	from, to := seeds(t, racetest.Some(15))
	const lanes = 4
	var mu sync.Mutex
	var sum Sum
	t.Run("lanes", func(t *testing.T) {
		for lane := range uint64(lanes) {
			t.Run(strconv.FormatUint(lane, 10), func(t *testing.T) {
				t.Parallel()
				for seed := from + lane; seed <= to; seed += lanes {
					o := Run(seed)
					mu.Lock()
					sum.Add(o)
					mu.Unlock()
					if len(o.Faults) > 0 && !t.Failed() {
						t.Error(o, "\n", Shrink(o))
					}
				}
			})
		}
	})
	t.Log(&sum)
	if to-from >= 299 {
		for _, kind := range slices.Sorted(maps.Keys(sum.Injected)) {
			if sum.Injected[kind] < 10 {
				t.Errorf("only %d faults of the kind %q were injected: the seeds do not reach it", sum.Injected[kind], kind)
			}
		}
		if len(sum.Injected) < 20 {
			t.Errorf("%d kinds of faults: %v", len(sum.Injected), sum.Injected)
		}
	}
}

// The engine breaks no rule with bursts, of which many operations are due within a microsecond, nor with nearly
// even arrivals. The test takes the runs of TestSeeds with random arrivals; with the economy pacing a burst is
// sent later than 1 ms, which the verdict says.
func TestBursts(t *testing.T) {
	from, to := seeds(t, racetest.Some(30))
	runs := map[string]int{}
	for seed := from; seed <= to; seed++ {
		sc := generate(seed)
		if !sc.Poisson || sc.Pacing == "economy" || sc.MaxLag > 0 {
			continue
		}
		sc.CV = []float64{0.1, 3}[seed%2]
		runs[sc.Mode]++
		if o := run(seed, sc); len(o.Faults) > 0 {
			t.Fatal(o)
		}
	}
	t.Log(runs)
	if to-from >= 29 && len(runs) < 2 {
		t.Errorf("only these modes: %v", runs)
	}
}

// A seed decides everything: two runs of it make the same calls in the same order.
func TestSameTrace(t *testing.T) {
	calls := uint64(0)
	from, to := seeds(t, racetest.Some(5))
	for seed := from; seed <= to; seed++ {
		a, b := Run(seed), Run(seed)
		calls += a.Calls
		if a.Trace != b.Trace || a.Calls != b.Calls {
			t.Errorf("seed %d: %d calls with the fingerprint %x, then %d with %x", seed, a.Calls, a.Trace, b.Calls, b.Trace)
		}
	}
	if calls == 0 {
		t.Error("no calls were made to the world")
	}
}

// TestSeed shows every call of the threads of one seed: TAKT_SEED=N.
func TestSeed(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("TAKT_SEED"), 10, 64)
	if err != nil {
		t.Skip("shows one seed: TAKT_SEED=N names it")
	}
	sc := generate(seed)
	sc.Verbose = true
	o := run(seed, sc)
	t.Log(strings.Join(o.Log, "\n"), "\n", o)
}

// The oracle detects a wrong answer, a wrong instant and a wrong percentile.
func TestOracle(t *testing.T) {
	for _, c := range []struct {
		kind  string
		spoil func(k *checker, _ *takt.Report)
	}{
		{"rows", func(k *checker, _ *takt.Report) { k.rows = k.rows[1:] }},
		{"order", func(k *checker, _ *takt.Report) { k.rows[0].Free = k.rows[0].Sent + 1 }},
		{"done", func(k *checker, _ *takt.Report) { k.rows[0].Done += 1000_000 }},
		{"answer", func(k *checker, _ *takt.Report) { k.rows[0].Status = 201 }},
		{"answer", func(k *checker, _ *takt.Report) { k.rows[0].Seq = 1 << 40 }},
		{"failure", func(k *checker, _ *takt.Report) { k.rows[0].Class = engine.ClassReset }},
		{"percentile", func(k *checker, _ *takt.Report) { k.rows[0].Due -= 1000_000 }},
	} {
		sc := &Scenario{Mode: modeLoop, Rate: 1000, Duration: 100_000_000, Loops: 1, InFlight: 100, Room: unbounded, Drain: 1e9, Timeout: 1e9, ConnectTimeout: 1e9, Service: 1e6, spoil: c.spoil}
		o := run(1, sc)
		if !slices.ContainsFunc(o.Faults, func(f Fault) bool { return f.Kind == c.kind }) {
			t.Errorf("%s: the oracle says %v", c.kind, o.Faults)
		}
		if sc.spoil = nil; len(run(1, sc).Faults) > 0 {
			t.Errorf("%s: without the falsification the oracle says %v", c.kind, run(1, sc).Faults)
		}
	}
}

// The oracle of streams detects a first part that came too early or is missing, and a longest gap that is longer or
// shorter than it was.
func TestOracleOfStreams(t *testing.T) {
	for _, c := range []struct {
		row int
		by  time.Duration
	}{{0, -time.Millisecond}, {0, 5 * time.Millisecond}, {0, -time.Hour}, {1, time.Millisecond}, {1, -5 * time.Millisecond}} {
		sc := &Scenario{
			Mode: modeLoop, Rate: 200, Duration: 100 * time.Millisecond, Loops: 1, InFlight: 100, Room: unbounded, Drain: time.Second, Timeout: time.Second,
			ConnectTimeout: time.Second, Service: time.Millisecond, Parts: 10, Gap: 20 * time.Millisecond,
		}
		sc.spoil = func(k *checker, _ *takt.Report) {
			for i := range k.rows {
				if d := &k.rows[i].Timed[c.row]; *d > 0 {
					*d = max(0, *d+c.by)
				}
			}
		}
		if o := run(3, sc); !slices.ContainsFunc(o.Faults, func(f Fault) bool { return f.Kind == "parts" && !strings.Contains(f.Text, "the rows n") }) {
			t.Errorf("%+v: the oracle says %v", c, o.Faults)
		}
		if sc.spoil = nil; len(run(3, sc).Faults) > 0 {
			t.Errorf("without the falsification the oracle says %v", run(3, sc).Faults)
		}
	}
}

// Shrink removes from a failing scenario what it does not need to fail.
func TestShrink(t *testing.T) {
	sc := &Scenario{Mode: modeLoop, Rate: 1000, Duration: 20 * time.Millisecond, Loops: 3, InFlight: 100, Room: unbounded, Drain: time.Second,
		Timeout: time.Second, ConnectTimeout: time.Second, Service: time.Millisecond, Drips: 0.3, Closes: 0.2}
	sc.spoil = func(k *checker, _ *takt.Report) { k.rows = k.rows[1:] }
	o := Shrink(run(7, sc))
	if s := o.Scenario; s.Drips > 0 || s.Closes > 0 || s.Loops != 1 || o.Faults[0].Kind != "rows" {
		t.Errorf("shrunk to %s: %v", s, o.Faults)
	}
}

// A closed loop ends when its time is over, even when all connections pause because the target is
// silent. It used to end up to 128 ms later.
func TestPauseEnds(t *testing.T) {
	for _, mode := range []string{modeLoop, modeWorker} {
		sc := &Scenario{Mode: mode, Duration: 180 * time.Millisecond, Connections: 1, InFlight: 1, Room: unbounded,
			Drain: time.Second, Timeout: 2 * time.Millisecond, ConnectTimeout: time.Second, Service: time.Millisecond, Silence: 1}
		if o := run(1, sc); len(o.Faults) > 0 || o.Virtual > 200*time.Millisecond {
			t.Errorf("it ended after %v: %v", o.Virtual, o)
		}
	}
}

// Operations that the target gave back may be older than the time limit of connecting. Each of them
// used to begin a connection of its own when they had to wait for the next one.
func TestOldOperationsShareADial(t *testing.T) {
	sc := &Scenario{Mode: modeH2TLS, Rate: 2000, Duration: time.Second, InFlight: 10_000, Room: unbounded, Loops: 1,
		Drain: 20 * time.Second, Timeout: 10 * time.Second, ConnectTimeout: 100 * time.Millisecond, Service: time.Millisecond,
		Conns: 1, Streams: 10_000, Allows: 1, EarlyGoAways: 0.5, NewSettings: 0.05, LostSYN: 0.3}
	if o := run(34, sc); len(o.Faults) > 0 {
		t.Error(o)
	}
}

// Operations that wait for a stream of a connection that breaks begin on the next one. They used to
// wait until their time was over.
func TestQueueOutlivesItsConnection(t *testing.T) {
	for seed := range uint64(20) {
		sc := &Scenario{Mode: modeH2, Requests: 400, Connections: 300, InFlight: 10_000, Room: unbounded, Loops: 1,
			Drain: 20 * time.Second, Timeout: 10 * time.Second, ConnectTimeout: time.Second, Service: time.Millisecond,
			Conns: 1, Streams: 300, Allows: 1 + int(seed)%3, Resets: 0.1}
		if o := run(seed, sc); len(o.Faults) > 0 {
			t.Fatal(o)
		}
	}
}

// Users perform their scenario as docs/scenarios.md says, whatever the target answers: TAKT_SEEDS for more.
func TestUsers(t *testing.T) {
	from, to := seeds(t, racetest.Some(20))
	var sum Sum
	for seed := from; seed <= to; seed++ {
		sc := new(Scenario)
		sc.perform(rand.New(rand.NewPCG(seed, 1)))
		o := run(seed, sc)
		sum.Add(o)
		if len(o.Faults) > 0 {
			t.Fatal(o, "\n", Shrink(o))
		}
	}
	t.Log(&sum)
}

// The oracle of users detects a step that came too early, one that nobody should have sent, and a round that is missing.
func TestOracleOfUsers(t *testing.T) {
	for _, c := range []struct {
		kind  string
		spoil func(c *crowd)
	}{
		{"due", func(c *crowd) { c.tries[len(c.tries)-1].due-- }},
		{"round", func(c *crowd) { c.tries = c.tries[:len(c.tries)-1] }},
		{"round", func(c *crowd) { c.tries[len(c.tries)-1].step-- }},
		{"class", func(c *crowd) { c.tries[0].class = "check" }},
		{"round", func(c *crowd) { c.tries = append(c.tries, c.tries[len(c.tries)-1]) }},
		{"steps", func(c *crowd) { c.tries[len(c.tries)-1].ended = false }},
		{"skipped", func(c *crowd) { c.tries[len(c.tries)-1].dropped = true }},
	} {
		sc := &Scenario{
			Mode: modeUsers, Rate: 100, Duration: 100 * time.Millisecond, InFlight: 100, Room: unbounded, Drain: time.Second, Timeout: time.Second,
			ConnectTimeout: time.Second, Service: time.Millisecond,
			Script: script{{asks: -1, list: -1}, {asks: -1, list: -1, optional: true, think: span{time.Millisecond, time.Millisecond}}},
		}
		w := newWorld(sc, 1)
		var rep *takt.Report
		var err error
		w.run(func() { rep, err = w.load() })
		if err != nil || len(w.report.faults) > 0 {
			t.Fatal(err, w.report.faults)
		}
		w.origin = rep.StartedAt.Sub(w.base)
		if w.report.check(w, rep); len(w.report.faults) > 0 {
			t.Fatal(w.report.faults)
		}
		c.spoil(w.users)
		w.report.users(w, rep)
		if !slices.ContainsFunc(w.report.faults, func(f Fault) bool { return f.Kind == c.kind }) {
			t.Errorf("%s: the oracle says %v", c.kind, w.report.faults)
		}
	}
}

// The report has the operations of users that began again since the target gave them back. It had none: the connections of
// users did not know their run.
func TestUsersBeginAgain(t *testing.T) {
	sc := &Scenario{
		Mode: modeUsers, H2: true, Streams: 1, Rate: 500, Duration: 200 * time.Millisecond, InFlight: 100, Room: unbounded, Drain: time.Second,
		Timeout: time.Second, ConnectTimeout: time.Second, Service: time.Millisecond, RefusedStreams: 0.2, GoAways: 0.1, Script: script{{asks: -1, list: -1}},
	}
	if o := run(1, sc); len(o.Faults) > 0 || o.Injected["refused stream"] < 5 {
		t.Error(o, o.Injected)
	}
}

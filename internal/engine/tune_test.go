package engine

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// What a run sets it restores, and a thread that sleeps with a P gets one of its own:
// with GOMAXPROCS=1 (a container of one CPU, taskset) everything else would wait for
// it; the service p50 was 4.2 ms.
func TestTune(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	procs := runtime.GOMAXPROCS(1)
	gc, memory := debug.SetGCPercent(77), debug.SetMemoryLimit(math.MaxInt64)
	defer func() { runtime.GOMAXPROCS(procs); debug.SetGCPercent(gc); debug.SetMemoryLimit(memory) }()
	for _, c := range []struct {
		keep    Keep
		garbage garbage
		procs   int
		gc      int
		limited bool
	}{
		{KeepNothing, noGarbage, 3, -1, true},
		{KeepNothing, someGarbage, 3, 77, true},
		{KeepNothing, allGarbage, 3, 400, true},
		{KeepNothing, usersGarbage, 3, 200, true},
		{KeepCollector, allGarbage, 3, 77, false},
		{KeepAll, noGarbage, 1, 77, false},
	} {
		restore := tune(needs{keep: c.keep, waiters: 2, garbage: c.garbage})
		percent := debug.SetGCPercent(-1)
		debug.SetGCPercent(percent)
		limited := debug.SetMemoryLimit(-1) < math.MaxInt64
		if n := runtime.GOMAXPROCS(0); n != c.procs || percent != c.gc || limited != c.limited {
			t.Errorf("%+v: GOMAXPROCS %d, GOGC %d, memory limited %v", c, n, percent, limited)
		}
		restore()
		percent = debug.SetGCPercent(77)
		if n := runtime.GOMAXPROCS(0); n != 1 || percent != 77 || debug.SetMemoryLimit(-1) != math.MaxInt64 {
			t.Errorf("%+v: not restored: GOMAXPROCS %d, GOGC %d", c, n, percent)
		}
	}
}

// A run begins with one core and takes on others, up to those that the user gave, while
// those that it has are busy.
func TestCrew(t *testing.T) {
	procs := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(procs)
	for _, c := range []struct {
		cpus, most int
	}{{0, 2}, {1, 1}, {3, 3}} {
		c1 := cores{needs: needs{cpus: c.cpus, few: true}}
		restore := tune(c1.needs)
		for want := 1; want < c.most; want++ {
			if n := runtime.GOMAXPROCS(0); n != want || c1.next(machine{}.After) == nil {
				t.Fatalf("--cpus %d: %d cores, want %d and a look at them", c.cpus, n, want)
			}
			c1.cpu += time.Hour // nothing was done since
			c1.look()
			if n := runtime.GOMAXPROCS(0); n != want {
				t.Errorf("--cpus %d: idle, and another core: %d", c.cpus, n)
			}
			c1.cpu -= 2 * time.Hour
			c1.look()
		}
		if n := runtime.GOMAXPROCS(0); n != c.most || c1.next(machine{}.After) != nil {
			t.Errorf("--cpus %d: %d cores in the end, want %d, and no look any more", c.cpus, n, c.most)
		}
		restore()
		if n := runtime.GOMAXPROCS(0); n != 2 {
			t.Errorf("--cpus %d: not restored: %d", c.cpus, n)
		}
	}
	var c cores
	for _, share := range []float64{0.69, 0.71} {
		if busy := c.busy(2, time.Second, time.Duration(2*share*float64(time.Second))); busy != (share > 0.7) {
			t.Errorf("%v of two cores: busy %v", share, busy)
		}
	}
}

// A run that needs more cores than one that it overlaps with gets them.
func TestTuneOverlaps(t *testing.T) {
	procs := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(procs)
	first := tune(needs{few: true})
	second := tune(needs{waiters: 1})
	if n := runtime.GOMAXPROCS(0); n != 3 {
		t.Errorf("GOMAXPROCS %d, want 3", n)
	}
	first()
	second()
	if n := runtime.GOMAXPROCS(0); n != 2 {
		t.Errorf("not restored: %d", n)
	}
}

// Which runs begin with one core: those of completions alone.
func TestFew(t *testing.T) {
	async := &takt.Driver{Async: func(int, takt.Sink) (*takt.AsyncClient, error) { return nil, nil }}
	for _, c := range []struct {
		rate     string
		inFlight int
		want     bool
	}{{"max", 100, true}, {"max", 1, false}, {"1000", 100, false}} {
		p := Plan{Options: Defaults(), Driver: async}
		p.Rate, p.MaxInFlight = MustRate(c.rate), c.inFlight
		if n := p.needs(); n.few != c.want && runtime.GOOS == "linux" {
			t.Errorf("%+v: few %v", c, n.few)
		}
	}
}

// What the user says by the environment stays.
func TestTuneKeepsTheEnvironment(t *testing.T) {
	t.Setenv("GOGC", "50")
	t.Setenv("GOMEMLIMIT", "1GiB")
	memory := debug.SetMemoryLimit(-1)
	restore := tune(needs{waiters: 1, garbage: noGarbage})
	defer restore()
	if percent := debug.SetGCPercent(50); percent == -1 {
		t.Error("the collector was switched off in spite of GOGC")
	}
	if debug.SetMemoryLimit(-1) != memory {
		t.Error("the memory limit was set in spite of GOMEMLIMIT")
	}
}

func TestMemoryLimit(t *testing.T) {
	for available, want := range map[int64]int64{0: 256<<20 + 10000*16<<10, 64 << 30: 256<<20 + 10000*16<<10, 128 << 20: 64 << 20} {
		if got := memoryLimit(available); got != want {
			t.Errorf("of %d: %d, want %d", available, got, want)
		}
	}
}

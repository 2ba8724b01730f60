package engine

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
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
		{KeepCollector, allGarbage, 3, 77, false},
		{KeepAll, noGarbage, 1, 77, false},
	} {
		restore := tune(0, c.keep, 2, c.garbage)
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

// What the user says by the environment stays.
func TestTuneKeepsTheEnvironment(t *testing.T) {
	t.Setenv("GOGC", "50")
	t.Setenv("GOMEMLIMIT", "1GiB")
	memory := debug.SetMemoryLimit(-1)
	restore := tune(0, KeepNothing, 1, noGarbage)
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

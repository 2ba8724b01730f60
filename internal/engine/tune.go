package engine

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/taktload/takt/internal/proc"
)

// tuning is the process-wide state that runs change and restore: it belongs to
// the process, so it is the one variable of a package that takt has. Runs may
// overlap; the last to end restores.
var tuning struct {
	sync.Mutex
	runs int
	undo func()
}

// Keep is what a run leaves of the process as it is. A program that has takt as a
// library owns its settings.
type Keep int

// The values of Keep.
const (
	KeepNothing   Keep = iota // set all that a run needs, and restore it at its end
	KeepCollector             // leave the garbage collector and the memory limit alone
	KeepAll                   // leave GOMAXPROCS alone, too
)

// tune sets GOMAXPROCS and the garbage collector for a run, as far as keep allows,
// and returns what restores them. garbage is what
// operations leave; cpus is the number of cores for the work itself, 0: as it is;
// waiters are threads that sleep with a P.
func tune(cpus int, keep Keep, waiters int, garbage garbage) (restore func()) {
	if keep == KeepAll {
		return func() {}
	}
	tuning.Lock()
	defer tuning.Unlock()
	tuning.runs++
	if tuning.runs == 1 {
		tuning.undo = set(cpus, keep, waiters, garbage)
	}
	return sync.OnceFunc(untune)
}

// set does what tune promises. A sleeping pacer keeps one P: with GOMAXPROCS=1 (a
// container of one CPU) the service p50 was 4.2 ms without another one. What the
// user set by GOGC or GOMEMLIMIT stays.
func set(cpus int, keep Keep, waiters int, garbage garbage) (undo func()) {
	if cpus == 0 {
		cpus = runtime.GOMAXPROCS(0)
	}
	procs := runtime.GOMAXPROCS(cpus + waiters)
	if keep == KeepCollector {
		return func() { runtime.GOMAXPROCS(procs) }
	}
	gc, memory := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	debug.SetGCPercent(gcPercent(gc, garbage))
	if os.Getenv("GOMEMLIMIT") == "" && memory == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit(proc.Memory()))
	}
	return func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(gc)
		debug.SetMemoryLimit(memory)
	}
}

// garbage is what operations leave behind.
type garbage int

const (
	noGarbage   garbage = iota // nothing, and nobody else either: the loop mode
	someGarbage                // nothing, beside goroutines that leave some
	allGarbage                 // each of them some
)

// gcPercent is what holds during a run, where now holds before it. A collection
// sends the threads of the loop mode to the back of queues with slices of 10 ms, so
// there is none until the memory limit. A driver that allocates for each operation
// gets one a quarter as often: with a live heap and 300 MB/s of garbage the default
// gave a lag p99 of 13–30 ms.
func gcPercent(now int, g garbage) int {
	switch {
	case os.Getenv("GOGC") != "" || g == someGarbage:
		return now
	case g == noGarbage:
		return -1
	}
	return 400
}

// memoryLimit keeps the heap from growing without bound: 256 MiB, and what a pool
// of 10 000 buffers of 16 KiB takes, but never more than half of what there is.
func memoryLimit(available int64) int64 {
	const most = 256<<20 + DefaultInFlight*16<<10
	if available <= 0 {
		return most // not known
	}
	return min(most, available/2)
}

func untune() {
	tuning.Lock()
	defer tuning.Unlock()
	if tuning.runs--; tuning.runs == 0 {
		tuning.undo()
	}
}

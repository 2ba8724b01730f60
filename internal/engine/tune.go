package engine

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// tuning is the process-wide state that runs change and restore: it belongs to
// the process, so it is the one variable of a package that takt has. Runs may
// overlap; the last to end restores.
var tuning struct {
	sync.Mutex
	runs int
	undo func()
}

// memoryLimit keeps the heap from growing without bound: 256 MiB, and what a pool
// of 10 000 buffers of 16 KiB takes.
const memoryLimit = 256<<20 + DefaultInFlight*16<<10

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
// and returns what restores them. allocates says that operations make garbage;
// cpus is the number of cores for the work itself; 0: as it is.
func tune(cpus int, keep Keep, waiters int, allocates bool) (restore func()) {
	if keep == KeepAll {
		return func() {}
	}
	tuning.Lock()
	defer tuning.Unlock()
	tuning.runs++
	if tuning.runs == 1 {
		tuning.undo = set(cpus, keep, waiters, allocates)
	}
	return sync.OnceFunc(untune)
}

// set does what tune promises. A sleeping pacer keeps one P: with GOMAXPROCS=1 (a
// container of one CPU) the service p50 was 4.2 ms without another one. What the
// user set by GOGC or GOMEMLIMIT stays.
func set(cpus int, keep Keep, waiters int, allocates bool) (undo func()) {
	if cpus == 0 {
		cpus = runtime.GOMAXPROCS(0)
	}
	procs := runtime.GOMAXPROCS(cpus + waiters)
	if keep == KeepCollector {
		return func() { runtime.GOMAXPROCS(procs) }
	}
	gc, memory := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	debug.SetGCPercent(gcPercent(gc, allocates))
	if os.Getenv("GOMEMLIMIT") == "" && memory == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit)
	}
	return func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(gc)
		debug.SetMemoryLimit(memory)
	}
}

// gcPercent is what holds during a run, where now holds before it. A driver that
// allocates for each operation gets a collector that runs a quarter as often:
// with a live heap and 300 MB/s of garbage the default gave a lag p99 of
// 13–30 ms. Without such garbage, 1 MB/s of encoded intervals are all there is,
// and the default keeps the heap small.
func gcPercent(now int, allocates bool) int {
	if !allocates || os.Getenv("GOGC") != "" {
		return now
	}
	return 400
}

func untune() {
	tuning.Lock()
	defer tuning.Unlock()
	if tuning.runs--; tuning.runs == 0 {
		tuning.undo()
	}
}

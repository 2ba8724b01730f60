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
	runs, procs, gc int
	memory          int64
}

// memoryLimit keeps the heap from growing without bound: 256 MiB, and what a pool
// of 10 000 buffers of 16 KiB takes.
const memoryLimit = 256<<20 + DefaultInFlight*16<<10

// tune sets GOMAXPROCS and the garbage collector for a run and returns what
// restores them. A sleeping pacer keeps one P: with GOMAXPROCS=1 (a container of
// one CPU) the service p50 was 4.2 ms without another one. What the user set by
// GOGC or GOMEMLIMIT stays. allocates says that operations make garbage; cpus is the number of cores for the work itself; 0: as it is.
func tune(cpus int, allocates bool) (restore func()) {
	tuning.Lock()
	defer tuning.Unlock()
	tuning.runs++
	if tuning.runs == 1 {
		if cpus == 0 {
			cpus = runtime.GOMAXPROCS(0)
		}
		tuning.procs = runtime.GOMAXPROCS(cpus + 1)
		tuning.gc = debug.SetGCPercent(-1)
		debug.SetGCPercent(gcPercent(tuning.gc, allocates))
		tuning.memory = debug.SetMemoryLimit(-1)
		if os.Getenv("GOMEMLIMIT") == "" && tuning.memory == math.MaxInt64 {
			debug.SetMemoryLimit(memoryLimit)
		}
	}
	return sync.OnceFunc(untune)
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
		runtime.GOMAXPROCS(tuning.procs)
		debug.SetGCPercent(tuning.gc)
		debug.SetMemoryLimit(tuning.memory)
	}
}

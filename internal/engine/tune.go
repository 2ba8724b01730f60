package engine

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/taktload/takt/internal/proc"
)

// tuning is the process-wide state that runs change and restore. It belongs to the process,
// so it is takt's only package variable with state. Runs may overlap; the last one to end
// restores.
var tuning struct {
	sync.Mutex
	runs  int
	procs int // GOMAXPROCS before the first run
	undo  func()
}

// Keep says which settings of the process a run must not change. A program that uses takt as
// a library owns its settings.
type Keep int

// The values of Keep.
const (
	KeepNothing   Keep = iota // set all that a run needs and restore at its end
	KeepCollector             // leave the garbage collector and the memory limit alone
	KeepAll                   // leave GOMAXPROCS alone, too
)

// needs is what a run needs from its process.
type needs struct {
	keep    Keep
	cpus    int  // largest number of cores for the work itself; 0: unchanged
	few     bool // begin with one core, see cores
	waiters int  // number of threads that sleep while holding a P
	garbage garbage
}

// tune sets GOMAXPROCS and the garbage collector for a run, as far as n.keep permits, and
// returns a function that restores them. Of overlapping runs the first decides; later ones
// may only raise GOMAXPROCS.
func tune(n needs) (restore func()) {
	if n.keep == KeepAll {
		return func() {}
	}
	tuning.Lock()
	defer tuning.Unlock()
	tuning.runs++
	if tuning.runs == 1 {
		tuning.procs = runtime.GOMAXPROCS(0)
		tuning.undo = set(n)
	} else if procs := n.procs(); procs > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(procs)
	}
	return sync.OnceFunc(untune)
}

// procs is the value for GOMAXPROCS. A sleeping pacer holds one P: with GOMAXPROCS=1 (a
// container with one CPU) and no extra P the service p50 was 4.2 ms.
func (n needs) procs() int {
	if n.few {
		return 1 + n.waiters
	}
	return n.most()
}

// most is the largest value for GOMAXPROCS. The caller holds the lock, or has a run, during
// which tuning.procs does not change.
func (n needs) most() int {
	if n.cpus == 0 {
		return tuning.procs + n.waiters
	}
	return n.cpus + n.waiters
}

// set does the work of tune. It keeps values that the user set with GOGC or GOMEMLIMIT.
func set(n needs) (undo func()) {
	runtime.GOMAXPROCS(n.procs())
	if n.keep == KeepCollector {
		return func() { runtime.GOMAXPROCS(tuning.procs) }
	}
	gc, memory := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	debug.SetGCPercent(gcPercent(gc, n.garbage))
	if os.Getenv("GOMEMLIMIT") == "" && memory == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit(proc.Memory()))
	}
	return func() {
		runtime.GOMAXPROCS(tuning.procs)
		debug.SetGCPercent(gc)
		debug.SetMemoryLimit(memory)
	}
}

// cores adds cores to a run that began with one. With two cores, each goroutine that wakes
// another may cost a system call and cache misses: takt kafka produce took a fifth more CPU
// time per record, takt jms per message. A run paced by completions gains nothing from more
// cores; a run at a rate keeps them for due operations.
type cores struct {
	needs
	at  time.Time
	cpu time.Duration // CPU time of the process at the instant at
}

const (
	// coresEvery is the time between two looks at the cores.
	coresEvery = 250 * time.Millisecond
	// coresBusy is the share of busy time at which a run gets another core. Below it, work
	// waits for a core about as long as it then runs (M/D/1: 1.2 times at 0.7).
	coresBusy = 0.7
)

// next signals when to look at the cores again; nil: never.
func (c *cores) next(after func(time.Duration) <-chan struct{}) <-chan struct{} {
	if !c.few || c.keep == KeepAll || runtime.GOMAXPROCS(0) >= c.most() {
		return nil
	}
	c.at, c.cpu = time.Now(), proc.CPU()
	return after(coresEvery)
}

// look adds a core if the present cores were busy.
func (c *cores) look() {
	tuning.Lock()
	defer tuning.Unlock()
	procs := runtime.GOMAXPROCS(0) // another run may have raised it
	if procs < c.most() && c.busy(procs, time.Since(c.at), proc.CPU()-c.cpu) {
		runtime.GOMAXPROCS(procs + 1)
	}
}

func (c *cores) busy(procs int, wall, cpu time.Duration) bool {
	return float64(cpu) >= coresBusy*float64(wall)*float64(procs)
}

// garbage is how much garbage operations leave behind.
type garbage int

const (
	noGarbage    garbage = iota // no garbage in the whole process: the loop mode
	someGarbage                 // no garbage from operations, some from other goroutines
	allGarbage                  // garbage from every operation
	usersGarbage                // 2 kB from every operation, and a live heap that grows with the users
)

// gcPercent is GOGC during a run; now is its value before. A collection sends the threads of
// the loop mode to the back of queues with slices of 10 ms, so that mode has no collection
// below the memory limit. A driver that allocates for each operation gets a quarter of the
// collections: with a live heap and 300 MB/s of garbage the default gave a lag p99 of 13–30
// ms.
func gcPercent(now int, g garbage) int {
	switch {
	case os.Getenv("GOGC") != "" || g == someGarbage:
		return now
	case g == noGarbage:
		return -1
	case g == usersGarbage: // 2000 users took 240 MB with 400, and at 900/s a collection comes every 20 s
		return 200
	}
	return 400
}

// memoryLimit bounds the heap: 256 MiB plus a pool of 10 000 buffers of 16 KiB, but never
// more than half of the available memory.
func memoryLimit(available int64) int64 {
	const most = 256<<20 + DefaultInFlight*16<<10
	if available <= 0 {
		return most // available is unknown
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

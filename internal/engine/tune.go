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

// tuning is the process-wide state that runs change and restore: it belongs to
// the process, so it is the one variable of a package that takt has. Runs may
// overlap; the last to end restores.
var tuning struct {
	sync.Mutex
	runs  int
	procs int // GOMAXPROCS before the first of them
	undo  func()
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

// needs is what a run asks of its process.
type needs struct {
	keep    Keep
	cpus    int  // cores for the work itself, at most; 0: as it is
	few     bool // begin with one of them, see crew
	waiters int  // threads that sleep with a P
	garbage garbage
}

// tune sets GOMAXPROCS and the garbage collector for a run, as far as it lets, and
// returns what restores them. Of runs that overlap the first one decides, but for
// GOMAXPROCS, which the others may raise.
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

// procs is what GOMAXPROCS is to be. A sleeping pacer keeps one P: with GOMAXPROCS=1 (a
// container of one CPU) the service p50 was 4.2 ms without another one.
func (n needs) procs() int {
	if n.few {
		return 1 + n.waiters
	}
	return n.most()
}

// most is what it may become. The caller holds the lock, or has a run, for which
// tuning.procs stays.
func (n needs) most() int {
	if n.cpus == 0 {
		return tuning.procs + n.waiters
	}
	return n.cpus + n.waiters
}

// set does what tune promises. What the user set by GOGC or GOMEMLIMIT stays.
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

// crew takes on cores for a run that began with one. With two, each goroutine that another
// one wakes up may cost a system call and caches that move: takt kafka produce took a fifth
// more CPU time a record, takt jms a message. A run that goes from completion to completion
// has nothing of them; one at a rate keeps them, for what is due.
type crew struct {
	needs
	at  time.Time
	cpu time.Duration // of the process, at at
}

const (
	// crewEvery is how often a crew is looked after.
	crewEvery = 250 * time.Millisecond
	// crewBusy is the share of its cores at which it gets another one. Below it what comes
	// in waits for a core about as long as it then takes (M/D/1: 1.2 times at 0.7).
	crewBusy = 0.7
)

// next is when the crew is to be looked after; nil: never again.
func (c *crew) next(after func(time.Duration) <-chan struct{}) <-chan struct{} {
	if !c.few || c.keep == KeepAll || runtime.GOMAXPROCS(0) >= c.most() {
		return nil
	}
	c.at, c.cpu = time.Now(), proc.CPU()
	return after(crewEvery)
}

// look takes on another core if those that there are were busy.
func (c *crew) look() {
	tuning.Lock()
	defer tuning.Unlock()
	procs := runtime.GOMAXPROCS(0) // another run may have raised it
	if procs < c.most() && c.busy(procs, time.Since(c.at), proc.CPU()-c.cpu) {
		runtime.GOMAXPROCS(procs + 1)
	}
}

func (c *crew) busy(procs int, wall, cpu time.Duration) bool {
	return float64(cpu) >= crewBusy*float64(wall)*float64(procs)
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

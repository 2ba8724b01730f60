package process

import (
	"maps"
	"time"

	"github.com/taktload/takt/internal/proc"
)

// sampleTime is the time between two readings. The kernel keeps the peak memory itself, so
// only the last reading before a process's end matters. Frequent readings are for processes that
// end by themselves.
const sampleTime = 250 * time.Millisecond

// Usage is the usage of processes between two instants.
type Usage struct {
	MaxRSS   int64         // sum of the processes' peaks of memory since their start, bytes; 0: unknown
	CPU      time.Duration // CPU time between the instants
	Switches uint64        // context switches between the instants, of threads that have not ended; 0: unknown
}

// Watched reads processes until Usage is called.
type Watched struct {
	find        func() []int
	first, last map[int]proc.Process
	switches    map[string]uint64 // at the beginning, by thread
	peak        int64
	quit, done  chan struct{}
}

// Watch begins to read a process; pid 0: it is unknown.
func Watch(pid int) *Watched {
	return WatchAll(func() []int { return []int{pid} })
}

// WatchAll begins to read the processes that find returns at the beginning and at the end.
func WatchAll(find func() []int) *Watched {
	w := &Watched{find: find, first: map[int]proc.Process{}, last: map[int]proc.Process{}, quit: make(chan struct{}), done: make(chan struct{})}
	pids := find()
	w.read(pids)
	for pid, p := range w.last {
		w.first[pid] = p
	}
	w.switches = switchesOf(pids)
	known := len(w.first) > 0
	go func() {
		defer close(w.done)
		tick := time.NewTicker(sampleTime)
		defer tick.Stop()
		for known {
			select {
			case <-tick.C:
				w.read(pids)
			case <-w.quit:
				return
			}
		}
	}()
	return w
}

// read reads processes that still exist.
func (w *Watched) read(pids []int) {
	var sum int64
	for _, pid := range pids {
		if p, ok := proc.Of(pid); ok {
			w.last[pid] = p
			sum += p.MaxRSS
		}
	}
	w.peak = max(w.peak, sum)
}

// Usage ends the watch and returns the usage.
func (w *Watched) Usage() (u Usage) {
	close(w.quit)
	<-w.done
	if len(w.first) == 0 {
		return u
	}
	pids := w.find()
	w.read(pids)
	for thread, n := range switchesOf(pids) {
		u.Switches += n - min(n, w.switches[thread]) // fewer than before: another thread got the number
	}
	for pid, p := range w.last {
		u.CPU += p.CPU - w.first[pid].CPU
	}
	u.MaxRSS = w.peak
	return u
}

// switchesOf are the context switches of processes, by thread.
func switchesOf(pids []int) map[string]uint64 {
	all := map[string]uint64{}
	for _, pid := range pids {
		maps.Copy(all, proc.Switches(pid))
	}
	return all
}

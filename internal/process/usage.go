package process

import (
	"time"

	"github.com/taktload/takt/internal/proc"
)

// sampleTime is the time between two readings. The kernel keeps the peak memory itself, so
// only the last reading before the server's end matters. Frequent readings are for a server
// that ends by itself.
const sampleTime = 250 * time.Millisecond

// Usage is the usage of the server's process between two instants.
type Usage struct {
	MaxRSS int64         // peak memory in bytes since its start; 0: unknown
	CPU    time.Duration // CPU time between the instants
}

// Watched reads a server's process until Usage is called.
type Watched struct {
	first, last proc.Process
	known       bool
	quit, done  chan struct{}
}

// Watch begins to read the process; pid 0: it is unknown.
func Watch(pid int) *Watched {
	w := &Watched{quit: make(chan struct{}), done: make(chan struct{})}
	w.first, w.known = proc.Of(pid)
	w.last = w.first
	go func() {
		defer close(w.done)
		tick := time.NewTicker(sampleTime)
		defer tick.Stop()
		for w.known {
			select {
			case <-tick.C:
				w.read(pid)
			case <-w.quit:
				w.read(pid)
				return
			}
		}
	}()
	return w
}

func (w *Watched) read(pid int) {
	if p, ok := proc.Of(pid); ok {
		w.last = p
	}
}

// Usage ends the watch and returns the usage.
func (w *Watched) Usage() Usage {
	close(w.quit)
	<-w.done
	return Usage{MaxRSS: w.last.MaxRSS, CPU: w.last.CPU - w.first.CPU}
}

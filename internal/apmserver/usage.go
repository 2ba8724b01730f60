package apmserver

import (
	"time"

	"github.com/taktload/takt/internal/proc"
)

// sampleTime is the time between two readings. The kernel keeps the peak memory itself, so
// only the last reading before the server's end matters. Frequent readings are for a server
// that ends by itself.
const sampleTime = 250 * time.Millisecond

// usage is the usage of the server's process between two instants.
type usage struct {
	maxRSS int64         // peak memory in bytes since its start; 0: unknown
	cpu    time.Duration // CPU time between the instants
}

// watched reads a server's process until usage is called.
type watched struct {
	first, last proc.Process
	known       bool
	quit, done  chan struct{}
}

// watch begins to read the process.
func watch(r *Running) *watched {
	w := &watched{quit: make(chan struct{}), done: make(chan struct{})}
	w.first, w.known = proc.Of(r.pid)
	w.last = w.first
	go func() {
		defer close(w.done)
		tick := time.NewTicker(sampleTime)
		defer tick.Stop()
		for w.known {
			select {
			case <-tick.C:
				w.read(r.pid)
			case <-w.quit:
				w.read(r.pid)
				return
			}
		}
	}()
	return w
}

func (w *watched) read(pid int) {
	if p, ok := proc.Of(pid); ok {
		w.last = p
	}
}

// usage ends the watch and returns the usage.
func (w *watched) usage() usage {
	close(w.quit)
	<-w.done
	return usage{maxRSS: w.last.MaxRSS, cpu: w.last.CPU - w.first.CPU}
}

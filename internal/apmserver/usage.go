package apmserver

import (
	"time"

	"github.com/taktload/takt/internal/proc"
)

// sampleTime is between two readings. The kernel keeps the highest memory itself, so
// only the last reading before the server's end matters; they are for a server that
// ends by itself.
const sampleTime = 250 * time.Millisecond

// usage is what the server's process used between two instants.
type usage struct {
	maxRSS int64         // bytes, the highest since its start; 0: not known
	cpu    time.Duration // between the instants
}

// watched reads the process of a server until it is asked for the figures.
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

// usage ends the watch.
func (w *watched) usage() usage {
	close(w.quit)
	<-w.done
	return usage{maxRSS: w.last.MaxRSS, cpu: w.last.CPU - w.first.CPU}
}

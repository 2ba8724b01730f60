package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/taktload/takt/internal/sock"
)

const (
	// defaultLag is the lag that the default allows: 150 µs at its p99.
	defaultLag = 150 * time.Microsecond
	// economyGrid is the grid of the economy: at 10k/s a wake-up then sends ten.
	economyGrid = time.Millisecond
	// spinWindow is from when the precise pacing looks at the clock instead of
	// sleeping: more than a sleep is late at its p99.
	spinWindow = 60 * time.Microsecond
)

// pacing is how a loop waits for the next due instant. A wake-up costs 25–30 µs of
// CPU on a virtual machine, whatever the timer, so a loop that may be a little late
// wakes at most once in each grid and sends what fell due meanwhile.
type pacing struct {
	name string
	lag  time.Duration // asked for; 0: as the name says
	grid time.Duration // at least between two wake-ups
	cost time.Duration // a shorter sleep costs more than looking at the clock
}

func (o Options) pacing() pacing { return pacing{name: cmp.Or(o.Pacing, pacingDefault), lag: o.MaxLag} }

func (p *pacing) precise() bool { return p.name == pacingPrecise }

// stamps reports whether answers are read later than they come, so that the kernel
// has to say when that was.
func (p *pacing) stamps() bool { return !p.precise() }

// measure finds out how late this machine's sleeps are, and the grid that follows:
// what the lag that is allowed leaves beside the lateness. It takes 3 ms.
func (p *pacing) measure() {
	const n, length = 20, 100 * time.Microsecond
	var late []time.Duration
	for range n {
		began := time.Now()
		sock.Sleep(length)
		late = append(late, time.Since(began)-length)
	}
	slices.Sort(late)
	p.cost = late[n/2]
	switch {
	case p.lag > 0:
		p.grid = max(0, p.lag-late[n-2])
	case p.name == pacingEconomy:
		p.grid = economyGrid
	case p.name == pacingDefault:
		p.grid = max(0, defaultLag-late[n-2])
	}
}

package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/taktload/takt/internal/sock"
)

const (
	// economyGrid is the grid of the economy: at 10k/s a wake-up then sends ten.
	economyGrid = time.Millisecond
	// spinWindow is from when the precise pacing looks at the clock instead of
	// sleeping: more than a sleep is late at its p99.
	spinWindow = 60 * time.Microsecond
)

// pacing is how a loop waits for the next due instant. By default it sleeps until
// then, however short that is: sleeps end 25–60 µs late, so at high rates each wake-up
// sends several. A wake-up costs 25–30 µs of CPU on a virtual machine, whatever the
// timer, so a loop that may be later wakes at most once in each grid and sends what
// fell due meanwhile.
type pacing struct {
	name string
	lag  time.Duration // asked for; 0: as the name says
	grid time.Duration // at least between two wake-ups
}

func (o Options) pacing() pacing { return pacing{name: cmp.Or(o.Pacing, pacingDefault), lag: o.MaxLag} }

func (p *pacing) precise() bool { return p.name == pacingPrecise }

// stamps reports whether answers are read later than they come, so that the kernel
// has to say when that was.
func (p *pacing) stamps() bool { return !p.precise() }

// measure finds the grid: what the lag that is allowed leaves beside the lateness of
// this machine's sleeps, which takes 3 ms to find out.
func (p *pacing) measure() {
	switch {
	case p.lag > 0:
		p.grid = max(0, p.lag-lateness())
	case p.name == pacingEconomy:
		p.grid = economyGrid
	}
}

// lateness is how late a sleep ends at its p90.
func lateness() time.Duration {
	const n, length = 20, 100 * time.Microsecond
	var late []time.Duration
	for range n {
		began := time.Now()
		sock.Sleep(length)
		late = append(late, time.Since(began)-length)
	}
	slices.Sort(late)
	return late[n-2]
}

package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/taktload/takt/internal/sock"
)

const (
	// economyLeast is the shortest grid: seven operations share a wake-up at 50k/s and
	// fourteen at 100k/s. More would queue at the target.
	economyLeast = 140 * time.Microsecond
	// economyGap is the time between operations at which one more operation in a burst pays
	// off.
	economyGap = 6 * time.Microsecond
	// spinWindow is the time before a due instant in which the precise pacing spins instead
	// of sleeping: longer than the p99 lateness of a sleep.
	spinWindow = 60 * time.Microsecond
)

// pacing is how a loop waits for the next due instant. By default it sleeps until then,
// however short the sleep. Sleeps end 25–60 µs late, so at high rates each wake-up sends
// several. A wake-up costs 25–30 µs of CPU on a virtual machine with any timer. So a loop
// that may be later wakes at most once per grid and sends all operations due since.
type pacing struct {
	name string
	lag  time.Duration // --max-lag; 0: determined by name
	grid time.Duration // shortest time between two wake-ups

	fits bool          // the grid adapts to the rate
	most time.Duration // longest grid that adapts to the rate
	woke time.Duration // instant of the last wake-up that sent
	gap  time.Duration // smoothed time between operations
}

func (o Options) pacing() pacing { return pacing{name: cmp.Or(o.Pacing, pacingDefault), lag: o.MaxLag} }

func (p *pacing) precise() bool { return p.name == pacingPrecise }

// measure sets the grid: the allowed lag minus the lateness of sleeps on this machine.
// Measuring the lateness takes 3 ms.
func (p *pacing) measure(sys sock.System, start time.Time) {
	switch {
	case p.lag > 0:
		p.grid = max(0, p.lag-lateness(sys, start))
	case p.name == pacingEconomy:
		p.most = max(economyLeast, economyGrid-lateness(sys, start))
		p.grid, p.fits = p.most, true
	}
}

// sent notes n operations sent from the instant now on; the grid counts from now. The
// economy's grid is nearly 1 ms up to 10k/s and shrinks above, where a long grid would send
// bursts that queue at the target. The lateness of sleeps is subtracted, because operations
// more than 1 ms late make a run invalid.
func (p *pacing) sent(n int, now time.Duration) {
	if n == 0 {
		return
	}
	if p.fits {
		n := time.Duration(n)
		p.gap += (now - p.woke - n*p.gap) / (32 + n)
		gap := min(p.gap, p.most) // a longer gap has no effect
		p.grid = min(p.most, max(economyLeast, gap*(gap/economyGap)))
	}
	p.woke = now
}

// lateness is the p90 of how late a sleep ends.
func lateness(sys sock.System, start time.Time) time.Duration {
	const n, length = 20, 100 * time.Microsecond
	var late []time.Duration
	for range n {
		began := sys.Since(start)
		sys.Sleep(length)
		late = append(late, sys.Since(start)-began-length)
	}
	slices.Sort(late)
	return late[n-2]
}

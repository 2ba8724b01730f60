package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/taktload/takt/internal/sock"
)

const (
	// economyGrid is how late an operation of the economy may be.
	economyGrid = time.Millisecond
	// economyLeast is the shortest: seven operations share the cost of a wake-up at 50k/s
	// and fourteen at 100k/s. More would queue at the target.
	economyLeast = 140 * time.Microsecond
	// economyGap is the time between operations that makes one more in a burst worth its
	// while.
	economyGap = 6 * time.Microsecond
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

	fits bool          // the grid follows the rate
	most time.Duration // to this
	woke time.Duration // when it last began to send
	gap  time.Duration // between operations, smoothed
}

func (o Options) pacing() pacing { return pacing{name: cmp.Or(o.Pacing, pacingDefault), lag: o.MaxLag} }

func (p *pacing) precise() bool { return p.name == pacingPrecise }

// measure finds the grid: what the lag that is allowed leaves beside the lateness of
// this machine's sleeps, which takes 3 ms to find out.
func (p *pacing) measure(sys sock.System, start time.Time) {
	switch {
	case p.lag > 0:
		p.grid = max(0, p.lag-lateness(sys, start))
	case p.name == pacingEconomy:
		p.most = max(economyLeast, economyGrid-lateness(sys, start))
		p.grid, p.fits = p.most, true
	}
}

// sent tells how many operations were sent from the instant now on. The grid counts
// from there. That of the economy is nearly 1 ms to 10k/s and shrinks above: a long one
// would send bursts that queue at the target. What a sleep is late is taken off, for
// operations that are sent more than 1 ms late make a run invalid.
func (p *pacing) sent(n int, now time.Duration) {
	if n == 0 {
		return
	}
	if p.fits {
		n := time.Duration(n)
		p.gap += (now - p.woke - n*p.gap) / (32 + n)
		gap := min(p.gap, p.most) // which has no use of more
		p.grid = min(p.most, max(economyLeast, gap*(gap/economyGap)))
	}
	p.woke = now
}

// lateness is how late a sleep ends at its p90.
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

package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/takt"
)

// Load is a run of all members.
type Load struct {
	Words    func(shard string) []string           // command line of a shard, k/n
	ID       string                                // id of the merged report
	Settings map[string]string                     // what shapes the load, by name; the same in all shards
	Asked    takt.Report                           // what the report of each shard must say of the load: see merge.Belongs
	End      time.Duration                         // length of the schedule, with the warm-up; not above 0: unknown
	Most     uint64                                // operations of a shard at most; 0: unknown
	Drain    time.Duration                         // most time for open operations after the end of the schedule
	Begin    func(head live.Head, start time.Time) // called when all members are ready
	Second   func(live.Snapshot)                   // called for each second of the whole
	Tell     func(text string)                     // tells the user what happens; nil: Options.Tell does
	Abort    <-chan struct{}                       // closed when the run must end without a drain
}

// round is a run of the fleet. The gatherer's lock guards its fields, except those of the fold.
type round struct {
	number   int
	load     Load
	launched bool         // the members know the start
	stopped  bool         // the members were told to end
	failed   *FailedError // the first member that could not run; nil: none
	head     live.Head    // of the whole
	begun    time.Time    // the start
	limit    time.Time    // when each member must have ended its part; zero: unknown
	seconds  seconds

	folding sync.Mutex // guards the fields below
	fold    *merge.Fold
	hosts   map[string]string // by shard; the fold reads it
	only    *takt.Report      // report of the only shard; nil: there are several
}

const (
	// endGrace is the time that a member has after the drain until it offers its report: drivers ask brokers what
	// has arrived.
	endGrace = 30 * time.Second
	// reportTime is the time that a member has for its report once the gatherer wants it. Few may send theirs at the
	// same time, so one that sends nothing would keep the others waiting.
	reportTime = silence + greet
)

// Run waits until all members are ready, starts them at one instant, and merges their reports. ctx
// ends with the first signal: the members then end their runs early, and still report. Without a
// report, no load was sent. With a report, the error is a *LostError that names lost members.
func (g *Gatherer) Run(ctx context.Context, load Load) (*takt.Report, error) {
	r := g.begin(load)
	defer g.over()
	if err := g.assemble(ctx); err != nil {
		return nil, g.callOff(ctx, err)
	}
	if err := g.launch(ctx, r); err != nil {
		return nil, g.callOff(ctx, err)
	}
	g.follow(ctx, r)
	return g.conclude(r)
}

func (g *Gatherer) begin(load Load) *round {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.made++
	hosts := map[string]string{}
	g.round = &round{number: g.made, load: load, hosts: hosts, fold: merge.New(merge.Options{ID: load.ID, AllowMissing: true, LeaveOut: true, Hosts: hosts})}
	for _, p := range g.peers {
		p.order(g.round)
	}
	return g.round
}

// over frees the numbers of lost members for the next run.
func (g *Gatherer) over() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.round = nil
	maps.DeleteFunc(g.peers, func(_ int, p *peer) bool { return p.lost != "" })
}

// stop ends the run of all members.
func (g *Gatherer) stop(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.round.stopped {
		return
	}
	g.round.stopped = true
	g.round.until(time.Now())
	for _, p := range g.peers {
		if !p.ended() {
			p.post(toMember{Round: g.round.number, Stop: reason})
		}
	}
}

// until sets when each member must have ended its part of a schedule that ends at an instant.
func (r *round) until(end time.Time) {
	if limit := end.Add(r.load.Drain + endGrace); r.limit.IsZero() || limit.Before(r.limit) {
		r.limit = limit
	}
}

// follow passes on the seconds of the run until each member has reported or is lost. At least once a beat it looks
// who keeps the others waiting.
func (g *Gatherer) follow(ctx context.Context, r *round) {
	stopping, abort := ctx.Done(), r.load.Abort
	var joiner merge.Joiner
	for {
		done, whole, lost := g.look(r)
		for _, s := range whole {
			if one, err := joiner.Join(s.intervals); err == nil { // else the report says so
				r.load.Second(live.Snapshot{Interval: one, Errors: s.errors})
			}
		}
		if done {
			return
		}
		if lost != "" && !r.stopped {
			g.stop(lost)
		}
		select {
		case <-g.changed:
		case <-stopping:
			stopping = nil
			g.stop(cmp.Or(context.Cause(ctx).Error(), "it was stopped"))
		case <-abort:
			abort = nil
			for _, p := range g.all() {
				p.post(toMember{Round: r.number, Abort: true})
			}
		}
	}
}

// look reports whether the run is over, and returns the complete seconds. It gives up members that keep the others
// waiting. lost names a lost member if its loss ends the run.
func (g *Gatherer) look(r *round) (done bool, whole []of, lost string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	done = true
	var gone []*peer
	list, now := g.inOrder(), time.Now()
	for _, p := range list {
		if late := p.overdue(r, now); late != "" {
			g.drop(p, late)
		}
		done = done && p.settled()
		if p.why() != "" {
			gone = append(gone, p)
		}
	}
	ends := len(gone) > g.Spare
	for _, p := range gone {
		if p.told {
			continue
		}
		p.told, p.after = true, time.Since(r.begun)
		switch {
		case ends && !r.stopped:
			g.tell(p.loss() + "; the run ends here")
		case !r.stopped:
			g.tell(fmt.Sprintf("%s; the run goes on with %d of %d shards", p.loss(), g.Shards-len(gone), g.Shards))
		}
	}
	if ends && !r.stopped {
		lost = gone[0].loss()
	}
	return done, r.seconds.complete(list), lost
}

// loss says what happened to a lost member.
func (p *peer) loss() string {
	return fmt.Sprintf("%s was lost: %s", p.called(), p.why())
}

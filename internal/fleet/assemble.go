package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/live"
)

const (
	leastLead = 2 * time.Second        // least time from telling the start to the start
	leadEach  = 5 * time.Millisecond   // additional time for each shard: all look at the clock before the start
	leadTrips = 20                     // least lead, in round trips to the slowest member
	callOff   = 500 * time.Millisecond // time before the start at which all must have confirmed it
)

// until waits until met is true or returns an error. At the limit it returns what expired returns. It
// calls both under the lock, each time that something changed.
func (g *Gatherer) until(ctx context.Context, limit time.Time, met func() (bool, error), expired func() error) error {
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	for {
		g.mu.Lock()
		done, err := met()
		g.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-g.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			g.mu.Lock()
			defer g.mu.Unlock()
			return expired()
		}
	}
}

// assemble waits until all members have joined and could start.
func (g *Gatherer) assemble(ctx context.Context) error {
	return g.until(ctx, time.Now().Add(g.Patience), func() (bool, error) {
		if failed := g.round.failed; failed != nil {
			return false, failed
		}
		if g.broken != nil {
			return false, g.broken
		}
		ready := 0
		for _, p := range g.peers {
			if p.ready != nil && p.last.Bound > 0 {
				ready++
			}
		}
		if ready < g.Shards {
			return false, nil
		}
		g.round.launched = true // from now on nobody can leave its place to another
		return true, g.sameFiles()
	}, g.absent)
}

// sameFiles is the error that names a file that two members have with different contents. The lock is
// held.
func (g *Gatherer) sameFiles() error {
	list := g.inOrder()
	model := merge.Usual(list, func(p *peer) string { return stored.JSON(p.ready.Files) })
	for _, p := range list {
		for _, name := range slices.Sorted(maps.Keys(model.ready.Files)) {
			if p.ready.Files[name] != model.ready.Files[name] {
				return fmt.Errorf("%s and %s have different files %.200s; copy the same file to all hosts", model.called(), p.called(), name)
			}
		}
	}
	return nil
}

// inOrder returns the members by number. The lock is held.
func (g *Gatherer) inOrder() []*peer {
	return slices.SortedFunc(maps.Values(g.peers), func(a, b *peer) int { return cmp.Compare(a.k, b.k) })
}

// mostNamed is the number of shards that an error names.
const mostNamed = 5

// absent is the error that names the shards that are missing, not ready, or without a clock. The lock is held.
func (g *Gatherer) absent() error {
	var missing, slow, timeless []string
	for k := 1; k <= g.Shards; k++ {
		switch p := g.peers[k]; {
		case p == nil:
			missing = append(missing, fmt.Sprintf("%d/%d", k, g.Shards))
		case p.ready == nil:
			slow = append(slow, p.called())
		case p.last.Bound == 0:
			timeless = append(timeless, p.called())
		}
	}
	var why []string
	if len(missing) > 0 {
		why = append(why, fmt.Sprintf("%d of %d shards have joined; %s missing", len(g.peers), g.Shards, some(missing, "is", "are")))
	}
	if len(slow) > 0 {
		why = append(why, some(slow, "has", "have")+" joined but not got ready")
	}
	if len(timeless) > 0 {
		why = append(why, some(timeless, "has", "have")+" not compared clocks")
	}
	return fmt.Errorf("after %v %s; look at the shards' own output, or raise --join-timeout", g.Patience, strings.Join(why, ", and "))
}

// some lists names with a verb.
func some(names []string, one, many string) string {
	verb := many
	if len(names) == 1 {
		verb = one
	}
	rest := ""
	if more := len(names) - mostNamed; more > 0 {
		names, rest = names[:mostNamed], fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ") + rest + " " + verb
}

// launch tells all members the start. It returns shortly before the start, if all have confirmed it.
func (g *Gatherer) launch(ctx context.Context, r *round) error {
	g.mu.Lock()
	lead, bound := leastLead+time.Duration(g.Shards)*leadEach, time.Duration(0)
	for _, p := range g.peers {
		lead = max(lead, leadTrips*2*p.best.Bound)
		bound = max(bound, p.best.Bound)
	}
	r.begun = time.Now().Add(lead)
	if r.load.End > 0 {
		r.until(r.begun.Add(r.load.End))
	}
	origin := g.Clock.Read(r.begun)
	list := g.inOrder()
	r.head = headOf(list, r.load.End)
	for _, p := range list {
		p.post(toMember{Round: r.number, Start: &origin}) // a member that does not get it does not confirm it
	}
	g.tell(fmt.Sprintf("%d of %d shards are ready; the start is at %s, and clocks are known within %s", g.Shards, g.Shards, time.Unix(0, origin).UTC().Format("15:04:05.000Z"), figure.Duration(bound)))
	g.mu.Unlock()
	r.load.Begin(r.head, r.begun)
	return g.until(ctx, r.begun.Add(-callOff), func() (bool, error) {
		if r.failed != nil {
			return false, r.failed
		}
		for _, p := range list {
			if why := p.why(); why != "" {
				return false, fmt.Errorf("%s was lost just before the start: %s", p.called(), why)
			}
		}
		return false, nil
	}, func() error {
		var silent []string
		for _, p := range list {
			if !p.armed {
				silent = append(silent, p.called())
			}
		}
		if silent == nil {
			return nil
		}
		return errors.New(some(silent, "has", "have") + " not confirmed the start in time")
	})
}

// headOf is what is known of the whole before it begins. end is that of the schedule; not above 0: only the members
// know it, as that of a log.
func headOf(list []*peer, end time.Duration) (head live.Head) {
	head.OneWay = merge.Usual(list, func(p *peer) bool { return p.ready.Head.OneWay }).ready.Head.OneWay
	head.Receives = merge.Usual(list, func(p *peer) bool { return p.ready.Head.Receives }).ready.Head.Receives
	if head.End = end; end <= 0 {
		head.End = merge.Usual(list, func(p *peer) time.Duration { return p.ready.Head.End }).ready.Head.End
	}
	for _, p := range list {
		head.Room += p.ready.Head.Room
		head.Timed = p.ready.Head.Timed // that of all members
	}
	return head
}

// callOff tells the members that the run will not begin, and why.
func (g *Gatherer) callOff(ctx context.Context, err error) error {
	g.stop(err.Error())
	g.mu.Lock()
	g.failed = err.Error()
	g.mu.Unlock()
	if ctx.Err() != nil {
		return err
	}
	failed := (*FailedError)(nil)
	if errors.As(err, &failed) {
		failed.Reason += "; no shard sent load"
		return err
	}
	if g.made > 1 {
		return err
	}
	return fmt.Errorf("%w; no load was sent", err)
}

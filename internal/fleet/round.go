package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/store/document"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Load is a run that all members make together.
type Load struct {
	Words    func(shard string) []string // the command line of a shard, k/n
	ID       string                      // of the merged report
	Settings map[string]string           // that all shards must have
	Begin    func(live.Head)             // called when all are ready
	Second   func(live.Snapshot)         // called for each second of the whole
	Tell     func(text string)           // says to the user what happens; nil: as Options.Tell
	Abort    <-chan struct{}             // closed when the run must end without a drain
}

// round is a run of the fleet. The gatherer's lock guards it.
type round struct {
	number   int
	load     Load
	launched bool         // the start is told
	stopped  bool         // all were told to end
	failed   *FailedError // who could not make its run, before the start; nil: nobody
	begun    time.Time
	seconds  seconds
	folding  sync.Mutex
	fold     *merge.Fold
}

const (
	leastLead = 2 * time.Second        // from telling the start to the start
	leadEach  = 5 * time.Millisecond   // more for each shard, since all want to know the time before it
	leadTrips = 20                     // or so many times the slowest way to a member and back
	callOff   = 500 * time.Millisecond // before the start, when all must have confirmed it
	endGrace  = 30 * time.Second       // after the drain, until a member has reported
)

// Run makes a run. It waits until all members are ready, starts them at one instant, and merges
// their reports. ctx ends with the first signal: the members then end their runs, and the report
// is that of what they did. Report and error come together if members were lost in the middle; if the
// report is nil, no load was sent.
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
	g.round = &round{number: g.made, load: load, fold: merge.New(merge.Options{ID: load.ID, AllowMissing: true})}
	for _, p := range g.peers {
		p.order(g.round)
	}
	return g.round
}

// over frees the numbers of lost members, for the next run.
func (g *Gatherer) over() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.round = nil
	maps.DeleteFunc(g.peers, func(_ int, p *peer) bool { return p.lost != "" })
}

// until waits for a condition, under the lock, that members fulfil. It ends with the error of
// the condition, at the limit with expired, or with ctx.
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
		ready := 0
		for _, p := range g.peers {
			if p.ready != nil && p.last.Bound > 0 {
				ready++
			}
		}
		return ready == g.Shards, nil
	}, g.absent)
}

// inOrder are the members by number. The lock is held.
func (g *Gatherer) inOrder() []*peer {
	return slices.SortedFunc(maps.Values(g.peers), func(a, b *peer) int { return cmp.Compare(a.k, b.k) })
}

// mostNamed is the number of shards that an error names.
const mostNamed = 5

// absent says who did not get ready in time. The lock is held.
func (g *Gatherer) absent() error {
	var missing, slow []string
	for k := 1; k <= g.Shards; k++ {
		switch p := g.peers[k]; {
		case p == nil:
			missing = append(missing, fmt.Sprintf("%d/%d", k, g.Shards))
		case p.ready == nil:
			slow = append(slow, p.called())
		}
	}
	var why []string
	if len(missing) > 0 {
		why = append(why, fmt.Sprintf("%d of %d shards have joined; %s missing", len(g.peers), g.Shards, some(missing, "is", "are")))
	}
	if len(slow) > 0 {
		why = append(why, some(slow, "has", "have")+" joined but not got ready")
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

// launch tells all members the start, and waits until each confirms that it will be in time.
func (g *Gatherer) launch(ctx context.Context, r *round) error {
	g.mu.Lock()
	lead, bound := leastLead+time.Duration(g.Shards)*leadEach, time.Duration(0)
	for _, p := range g.peers {
		lead = max(lead, leadTrips*2*p.best.Bound)
		bound = max(bound, p.best.Bound)
	}
	r.begun, r.launched = time.Now().Add(lead), true
	origin := g.Clock.Read(r.begun)
	list := g.inOrder()
	head := headOf(list)
	for _, p := range list {
		p.post(toMember{Round: r.number, Start: &origin}) // who does not get it does not confirm it
	}
	g.tell(fmt.Sprintf("all %d shards are ready and start at %s; their clocks are known within %s", g.Shards, time.Unix(0, origin).UTC().Format("15:04:05.000Z"), figure.Duration(bound)))
	g.mu.Unlock()
	r.load.Begin(head)
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

// headOf is what the members know of the whole.
func headOf(list []*peer) live.Head {
	head := *list[0].ready
	for _, p := range list[1:] {
		h := p.ready
		head.End, head.Room = max(head.End, h.End), head.Room+h.Room
		if head.Closed {
			head.Requests += h.Requests
		}
	}
	return head
}

// callOff tells the members that there is no run, and why there is none.
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
	return fmt.Errorf("%w; no load was sent", err)
}

// stop ends the run of all members.
func (g *Gatherer) stop(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.round.stopped {
		return
	}
	g.round.stopped = true
	for _, p := range g.peers {
		if !p.ended() {
			p.post(toMember{Round: g.round.number, Stop: reason})
		}
	}
}

// follow passes on the seconds of the run until nothing of any member is missing.
func (g *Gatherer) follow(ctx context.Context, r *round) {
	stopping, abort := ctx.Done(), r.load.Abort
	var joiner merge.Joiner
	limit := time.NewTimer(g.most(r))
	defer limit.Stop()
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
			g.mu.Lock()
			g.tell(lost + "; the run ends here")
			g.mu.Unlock()
			g.stop(lost)
			limit.Reset(g.drain() + endGrace)
		}
		select {
		case <-g.changed:
		case <-stopping:
			stopping = nil
			g.stop(cmp.Or(context.Cause(ctx).Error(), "it was stopped"))
			limit.Reset(g.drain() + endGrace)
		case <-abort:
			abort = nil
			for _, p := range g.all() {
				p.post(toMember{Round: r.number, Abort: true})
			}
		case <-limit.C:
			for _, p := range g.all() {
				if !p.settled() {
					g.lose(p, fmt.Sprintf("it has not reported %v after the end of its run", endGrace))
				}
			}
		}
	}
}

// forever is longer than any run.
const forever = 100 * 365 * 24 * time.Hour

// most is how long the run may take from now on.
func (g *Gatherer) most(r *round) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	head := headOf(g.inOrder())
	if head.End < 0 {
		return forever
	}
	return time.Until(r.begun) + head.End + head.Drain + endGrace
}

// drain is the time for open operations.
func (g *Gatherer) drain() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inOrder()[0].ready.Drain
}

// look says whether the run is over, which seconds are complete, and who was lost if that ends
// the run.
func (g *Gatherer) look(r *round) (done bool, whole []of, lost string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	done = true
	gone := 0
	for _, p := range g.inOrder() {
		done = done && p.settled()
		if p.why() == "" {
			continue
		}
		if gone++; lost == "" {
			lost = p.loss(r)
		}
	}
	if gone <= g.Spare || r.stopped {
		lost = ""
	}
	return done, r.seconds.complete(g.inOrder()), lost
}

// loss says what happened to a member in a run.
func (p *peer) loss(r *round) string {
	return fmt.Sprintf("%s was lost: %s", p.called(), p.why())
}

// accept takes in a line of a member about the present run.
func (g *Gatherer) accept(p *peer, line *toGatherer) {
	if line.Report != nil {
		g.merge(p, line)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if line.Clock != nil {
		p.clock(*line.Clock)
		g.note()
	}
	r := g.round
	if r == nil || line.Round != r.number || line.Over != nil && !r.launched {
		if line.Over != nil { // of a run that was called off, or that the member left before the start
			p.post(toMember{Round: line.Round, Taken: true})
		}
		return
	}
	switch {
	case line.Ready != nil:
		p.ready = line.Ready
	case line.Armed:
		p.armed = true
	case line.Second != nil:
		r.seconds.add(p, line.Second)
	case line.Failed != nil:
		p.failed = line.Failed
		if r.failed == nil {
			r.failed = &FailedError{p.name(), p.host, *p.failed}
		}
	case line.Over != nil:
		p.over = line.Over
		go g.give(p, r.number)
	default:
		return
	}
	g.note()
}

// give lets the member send its report when there is room for it.
func (g *Gatherer) give(p *peer, number int) {
	select {
	case g.room <- struct{}{}:
	case <-p.gone:
		return
	}
	g.mu.Lock()
	if p.lost != "" {
		<-g.room
	} else {
		p.holds = true
	}
	g.mu.Unlock()
	p.post(toMember{Round: number, Give: true})
}

// merge takes in a report. To read and add it takes some milliseconds, without the gatherer's lock.
func (g *Gatherer) merge(p *peer, line *toGatherer) {
	r := g.expects(p, line)
	if r == nil {
		p.post(toMember{Round: line.Round, Taken: true}) // the run was called off
		return
	}
	report, err := document.Parse(line.Report)
	if err == nil {
		report.StartedAt = time.Unix(0, g.Clock.Read(r.begun)).UTC() // by the gatherer's clock, which all have in common
		err = r.add(report)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.note()
	p.release()
	if err != nil {
		p.failed = &Failure{1, fmt.Sprintf("its report cannot be used: %v", err)}
	}
	p.merged = true
	p.post(toMember{Round: line.Round, Taken: true})
}

// expects is the run to which the report belongs; nil: nobody wants it.
func (g *Gatherer) expects(p *peer, line *toGatherer) *round {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.round; r != nil && line.Round == r.number && p.over != nil && !p.merged {
		return r
	}
	p.release()
	return nil
}

// add adds a report to the whole.
func (r *round) add(report *takt.Report) error {
	r.folding.Lock()
	defer r.folding.Unlock()
	return r.fold.Add(report)
}

// conclude is the report of the whole.
func (g *Gatherer) conclude(r *round) (*takt.Report, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lost []string
	for _, p := range g.inOrder() {
		if p.why() != "" {
			lost = append(lost, p.loss(r))
		}
	}
	var err error
	if len(lost) > g.Spare {
		err = &LostError{strings.Join(lost[:min(len(lost), mostNamed)], "; ")}
	}
	whole, unmerged := r.fold.Report()
	if unmerged != nil {
		return nil, cmp.Or(err, unmerged)
	}
	g.annotate(whole)
	if len(lost) > 0 && whole.Verdict == takt.Valid { // as when a shard ended early without a warning of its own
		verdict.Invalidate(whole, "shards_cut", "%s: from then on the target did not bear the whole load", lost[0])
	}
	return whole, err
}

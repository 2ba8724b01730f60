package fleet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// accept handles a line of a member. A member that says what cannot be is lost.
func (g *Gatherer) accept(p *peer, line *toGatherer) {
	var err error
	if line.Report != nil {
		err = g.merge(p, line)
	} else {
		err = g.take(p, line)
	}
	if err != nil {
		g.lose(p, err.Error())
	}
}

// take handles a line that is not a report.
func (g *Gatherer) take(p *peer, line *toGatherer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.lost != "" {
		return nil // it does not know it yet
	}
	r := g.round
	if line.Clock != nil {
		if err := line.Clock.check(); err != nil {
			return err
		}
		if err := p.clock(*line.Clock, r != nil && r.launched); err != nil {
			return err
		}
		g.note()
	}
	if r == nil || line.Round != r.number || line.Over != nil && !r.launched {
		if line.Over != nil { // of a run that was called off, or that the member left before the start
			p.post(toMember{Round: line.Round, Taken: true})
		}
		return nil
	}
	if err := p.check(r, line); err != nil {
		return err
	}
	switch {
	case line.Ready != nil:
		p.ready = line.Ready
	case line.Armed:
		p.armed = true
	case line.Second != nil:
		if err := p.believe(r, line.Second); err != nil {
			return err
		}
		r.seconds.add(p, line.Second)
	case line.Failed != nil:
		p.failed = &Failure{line.Failed.code(), foreign.Cut(line.Failed.Reason, mostSaid)}
		if r.failed == nil {
			r.failed = &FailedError{p.name(), p.host, *p.failed}
		}
	case line.Over != nil && p.over == nil:
		p.over = &over{foreign.Cut(line.Over.Early, mostSaid)}
		go g.give(p, r.number)
	default:
		return nil
	}
	g.note()
	return nil
}

// code is the exit code of a failure: a member cannot make the fleet end well, nor as if its load had been judged.
func (f *Failure) code() int {
	const failed, usage = 1, 2 // see docs/exit-codes.md
	if f.Code == usage {
		return usage
	}
	return failed
}

// mostSaid is the length of a reason that a member gives, in characters.
const mostSaid = 2000

// give lets the member send its report as soon as few others are being read.
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
		p.holds, p.since = true, time.Now()
	}
	g.mu.Unlock()
	p.post(toMember{Round: number, Give: true})
}

// merge adds the report of a member to the whole. That takes some milliseconds, so the gatherer is not
// locked meanwhile. A report from elsewhere may be a lie, so it is checked first, as those of takt store
// import are: no other member pays for it.
func (g *Gatherer) merge(p *peer, line *toGatherer) error {
	r, err := g.expects(p, line)
	if err != nil {
		return err
	}
	if r == nil {
		p.post(toMember{Round: line.Round, Taken: true}) // the run was called off
		return nil
	}
	report, err := document.Parse(line.Report)
	if err == nil {
		err = audit.Check(report)
	}
	if err == nil {
		err = r.believe(p.name(), report)
	}
	if err == nil {
		err = p.keepsItsWord(report) // nothing changes it any more: the run of the member is over
	}
	if err == nil {
		report.StartedAt = time.Unix(0, g.Clock.Read(r.begun)).UTC() // by the gatherer's clock, which all have in common
		err = r.add(p.name(), p.host, report)
	}
	if err != nil {
		return fmt.Errorf("its report cannot be used: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.note()
	p.release()
	p.merged = true
	p.post(toMember{Round: line.Round, Taken: true})
	return nil
}

// expects returns the run to which the report belongs; nil: the run is over, or was called off.
func (g *Gatherer) expects(p *peer, line *toGatherer) (*round, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.round
	if r == nil || line.Round != r.number || p.lost != "" {
		p.release()
		return nil, nil
	}
	if err := p.check(r, line); err != nil {
		return nil, err
	}
	p.sent = true
	return r, nil
}

// believe compares a report with what the gatherer asked for, so that no report depends on another.
func (r *round) believe(shard string, report *takt.Report) error {
	if report.Schedule.Shard != shard {
		return fmt.Errorf("it is that of shard %.20q", report.Schedule.Shard)
	}
	asked := r.load.Asked
	asked.Schedule.Shard = shard
	if err := merge.Belongs(report, &asked); err != nil {
		return err
	}
	for what, text := range map[string]string{"id": report.ID, "generator.engine": report.Generator.Engine, "generator.host_class": report.Generator.HostClass} {
		if len(text) > mostName || foreign.Text(text) != text {
			return fmt.Errorf("its %s is %.100q, which takt does not write", what, text)
		}
	}
	if most := r.longest(); report.WarmupS+report.DurationS > most.Seconds() {
		return fmt.Errorf("it is of a run of %v s, longer than the %v that it had", report.WarmupS+report.DurationS, most.Round(time.Millisecond))
	}
	if n := report.Counts.Scheduled + report.WarmupCounts.Scheduled; r.load.Most > 0 && n > r.load.Most {
		return fmt.Errorf("it has %d operations, and its part of the load has %d at most", n, r.load.Most)
	}
	return nil
}

// longest is how long the run of a member may have lasted.
func (r *round) longest() time.Duration {
	switch passed := time.Since(r.begun); {
	case r.load.End <= 0:
		return passed + leeway(passed)
	case r.load.Asked.Schedule.Profile == "closed": // to the last answer
		return r.load.End + r.load.Drain + leeway(r.load.End)
	}
	return r.load.End + rounding
}

// mostName is more than the length of names that takt gives, in bytes.
const mostName = 200

// rounding is more than what seconds as floating-point numbers make of a time.
const rounding = time.Microsecond

// whole is the report of all shards.
func (r *round) whole() (*takt.Report, error) {
	r.folding.Lock()
	defer r.folding.Unlock()
	if r.only == nil {
		return r.fold.Report()
	}
	r.only.ID = r.load.ID
	return r.only, nil
}

// add adds the report of a shard from a host.
func (r *round) add(shard, host string, report *takt.Report) error {
	r.folding.Lock()
	defer r.folding.Unlock()
	report.Labels = nil // those of the whole are the gatherer's
	if shard == takt.WholeShard {
		r.only = report
		return nil
	}
	r.hosts[shard] = host
	return r.fold.Add(report)
}

// conclude returns the report of the whole, and the error that names lost members.
func (g *Gatherer) conclude(r *round) (*takt.Report, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lost []string
	for _, p := range g.inOrder() {
		if p.why() != "" {
			lost = append(lost, p.loss())
		}
	}
	var err error
	if len(lost) > g.Spare {
		err = &LostError{strings.Join(lost[:min(len(lost), mostNamed)], "; ")}
	}
	whole, unmerged := r.whole()
	if unmerged != nil {
		return nil, cmp.Or(err, unmerged)
	}
	g.annotate(whole)
	for _, p := range g.inOrder() {
		if p.told {
			whole.Warn(warn.ShardLost, "%s, %v after the start", p.loss(), takt.Time("after", p.after.Round(100*time.Millisecond)))
		}
	}
	if len(lost) > 0 && whole.Verdict == takt.Valid { // as when a shard ended early without a warning of its own
		verdict.Invalidate(whole, warn.ShardsCut, "%s: from then on the target did not bear the whole load", lost[0])
	}
	return whole, err
}

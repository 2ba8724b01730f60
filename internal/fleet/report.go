package fleet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/store/document"
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
	switch {
	case line.Ready != nil:
		if err := possible(&line.Ready.Head); err != nil {
			return err
		}
		p.ready = line.Ready
	case line.Armed:
		p.armed = true
	case line.Second != nil:
		if err := p.believe(&line.Second.Interval); err != nil {
			return err
		}
		r.seconds.add(p, line.Second)
	case line.Failed != nil:
		p.failed = &Failure{line.Failed.Code, foreign.Cut(line.Failed.Reason, mostSaid)}
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
		p.holds = true
	}
	g.mu.Unlock()
	p.post(toMember{Round: number, Give: true})
}

// merge adds the report of a member to the whole. That takes some milliseconds, so the gatherer is not
// locked meanwhile. A report from elsewhere may be a lie, so it is checked first, as those of takt store
// import are: no other member pays for it.
func (g *Gatherer) merge(p *peer, line *toGatherer) error {
	r := g.expects(p, line)
	if r == nil {
		p.post(toMember{Round: line.Round, Taken: true}) // the run was called off
		return nil
	}
	report, err := document.Parse(line.Report)
	if err == nil {
		err = audit.Check(report)
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
func (g *Gatherer) expects(p *peer, line *toGatherer) *round {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.round; r != nil && line.Round == r.number && p.over != nil && !p.merged && p.lost == "" {
		return r
	}
	p.release()
	return nil
}

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
	if report.Schedule.Shard != shard {
		return fmt.Errorf("it is that of shard %.20q", report.Schedule.Shard)
	}
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

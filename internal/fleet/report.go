package fleet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/store/document"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// accept handles a line of a member.
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
	case line.Over != nil && p.over == nil:
		p.over = line.Over
		go g.give(p, r.number)
	default:
		return
	}
	g.note()
}

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
// locked meanwhile.
func (g *Gatherer) merge(p *peer, line *toGatherer) {
	r := g.expects(p, line)
	if r == nil {
		p.post(toMember{Round: line.Round, Taken: true}) // the run was called off
		return
	}
	report, err := document.Parse(line.Report)
	if err == nil {
		report.StartedAt = time.Unix(0, g.Clock.Read(r.begun)).UTC() // by the gatherer's clock, which all have in common
		err = r.add(p.name(), p.host, report)
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

// expects returns the run to which the report belongs; nil: the run is over, or was called off.
func (g *Gatherer) expects(p *peer, line *toGatherer) *round {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.round; r != nil && line.Round == r.number && p.over != nil && !p.merged {
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
			whole.Warn("shard_lost", "%s, %v after the start", p.loss(), p.after.Round(100*time.Millisecond))
		}
	}
	if len(lost) > 0 && whole.Verdict == takt.Valid { // as when a shard ended early without a warning of its own
		verdict.Invalidate(whole, "shards_cut", "%s: from then on the target did not bear the whole load", lost[0])
	}
	return whole, err
}

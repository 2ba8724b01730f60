package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// mostDuetOps is how many operations of a side a round keeps: 128 MiB of them.
const mostDuetOps = 4 << 20

// duetSide turns a run into one side of a duet: it has the operations of its blocks only,
// starts together with the other side, and keeps what became of each operation.
type duetSide struct {
	side int
	deal analysis.Deal
	most time.Duration // of the schedule; 0: all of it
	meet *meeting

	// Of the run, once it is over.
	warmup, end time.Duration
	ops         []analysis.DuetOp
	oneWay      bool // nobody answers
	report      *takt.Report
}

// errNoSchedule is of a run whose operations are not due at instants known before.
var errNoSchedule = errors.New("a duet deals a schedule to both sides, and this command has none; give it --rate or --stages, or use --pairs")

// source is what of src is this side's.
func (d *duetSide) source(src takt.Source, warmup time.Duration) (takt.Source, error) {
	c, ok := src.(takt.Counter)
	if !ok || src.End() < 0 {
		return nil, &exitError{exitUsage, errNoSchedule}
	}
	d.warmup, d.end = warmup, src.End()
	if d.most > 0 {
		d.end = min(d.end, warmup+d.most)
	}
	return &dealt{Counter: c, duetSide: d}, nil
}

// dealt are the operations of a side's blocks, with their numbers in the whole.
type dealt struct {
	takt.Counter
	*duetSide

	block  int // blocks before it are counted …
	whole  uint64
	counts uint64 // … of this side
}

// End implements takt.Source.
func (s *dealt) End() time.Duration { return s.end }

// Next implements takt.Source.
func (s *dealt) Next(op *takt.Op) bool {
	for s.Counter.Next(op) {
		if op.Due >= s.end {
			return false
		}
		if s.deal.Side(s.deal.Number(op.Due)) == s.side {
			return true
		}
	}
	return false
}

// DueBefore implements takt.Counter, of instants in rising order: block by block.
func (s *dealt) DueBefore(t time.Duration) uint64 {
	for end := s.after(); end <= t; end = s.after() {
		before := s.whole
		s.whole = s.Counter.DueBefore(end)
		if s.deal.Side(s.block) == s.side {
			s.counts += s.whole - before
		}
		s.block++
	}
	if s.deal.Side(s.block) != s.side {
		return s.counts
	}
	return s.counts + s.Counter.DueBefore(t) - s.whole
}

// after is the end of the block that is counted next.
func (s *dealt) after() time.Duration { return time.Duration(s.block+1) * s.deal.Block }

// join makes a run a side; of nil it stays as it is.
func (d *duetSide) join(p *engine.Plan) {
	if d == nil {
		return
	}
	p.Meet = d.meet.start
	others := p.OnSamples
	p.OnSamples = func(phases []string, list []takt.Sample) {
		d.samples(list)
		if others != nil {
			others(phases, list)
		}
	}
}

// over keeps the report of the run.
func (d *duetSide) over(r *takt.Report) {
	if d != nil {
		d.report = r
	}
}

// samples keeps what the analysis needs of rows.
func (d *duetSide) samples(list []takt.Sample) {
	for i := range list {
		d.oneWay = d.oneWay || list[i].Done == takt.NoAnswer
		if len(d.ops) == mostDuetOps {
			return // see complete
		}
		d.ops = append(d.ops, analysis.DuetOpOf(&list[i]))
	}
}

// complete says whether there is a row of each operation.
func (d *duetSide) complete() error {
	switch n := d.report.Counts.Scheduled; {
	case d.oneWay:
		return unsuited(errors.New("nobody answers the operations of this command, so a duet has nothing to compare; ask for acknowledgements, or use --pairs"))
	case n > mostDuetOps:
		return fmt.Errorf("a round has %d operations of a side, and at most %d are kept; make rounds shorter with --duration behind --", n, mostDuetOps)
	case n > uint64(len(d.ops)):
		return fmt.Errorf("%d of %d operations have no row, for they ended faster than takt read them; lower the rate", n-uint64(len(d.ops)), n)
	}
	return nil
}

// meetLead is how long before the common start both sides are ready: longer than what a run
// wakes before it.
const meetLead = 50 * time.Millisecond

// meeting is where both sides of a round wait for each other.
type meeting struct {
	mu    sync.Mutex
	ready int
	at    time.Time
	both  chan struct{} // closed once at is set
}

func newMeeting() *meeting { return &meeting{both: make(chan struct{})} }

// start is an engine.Meet.
func (m *meeting) start(ctx context.Context) (time.Time, error) {
	m.mu.Lock()
	if m.ready++; m.ready == 2 {
		m.at = time.Now().Add(meetLead)
		close(m.both)
	}
	m.mu.Unlock()
	select {
	case <-m.both:
		return m.at, nil
	case <-ctx.Done():
		return time.Now(), nil // the engine sees that ctx ended
	}
}

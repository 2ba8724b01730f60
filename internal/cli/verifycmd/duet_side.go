package verifycmd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// mostDuetOps is the most operations kept of one side in one round: 256 MiB.
const mostDuetOps = 4 << 20

// duetSide turns a run into one side of a duet. The run sends only the operations in its blocks,
// starts together with the other side, and records the outcome of each operation.
type duetSide struct {
	side int
	deal verify.Deal
	most time.Duration // length of the schedule to use, without warm-up; 0: all
	meet *meeting

	// Results of the run.
	warmup, end time.Duration
	whole       time.Duration // length of the whole schedule, without warm-up
	ops         []verify.DuetOp
	oneWay      bool // the operations have no answers
	rows        []string
	report      *takt.Report
}

// errNoSchedule is the error of a run without due instants that are known in advance.
var errNoSchedule = errors.New("a duet divides a schedule between both sides, and this command has none; give it --rate or --stages, or use --pairs")

// Source returns the operations of src that belong to this side.
func (d *duetSide) Source(src takt.Source, warmup time.Duration) (takt.Source, error) {
	c, ok := src.(takt.Counter)
	if !ok || src.End() < 0 {
		return nil, core.ExitWith(core.ExitUsage, errNoSchedule)
	}
	d.warmup, d.end, d.whole = warmup, src.End(), src.End()-warmup
	if d.most > 0 {
		d.end = min(d.end, warmup+d.most)
	}
	return &dealt{Counter: c, duetSide: d}, nil
}

// dealt is the source of the operations in a side's blocks. Operations keep the numbers that
// they have in the whole schedule.
type dealt struct {
	takt.Counter
	*duetSide

	// For DueBefore.
	block  int    // the next block to count
	whole  uint64 // operations of both sides before that block
	counts uint64 // operations of this side before that block
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

// DueBefore implements takt.Counter. It counts block by block, so calls must have rising t.
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

// after is the end of the next block to count.
func (s *dealt) after() time.Duration { return time.Duration(s.block+1) * s.deal.Block }

// Join makes the run of p this side of the duet.
func (d *duetSide) Join(p *engine.Plan, _ core.Known) {
	p.Meet, d.rows = d.meet.start, append([]string{}, timeline.Announced{Timed: p.Driver.Timed}.Rows()...)
	others := p.OnSamples
	p.OnSamples = func(phases []string, list []takt.Sample) {
		d.samples(list)
		if others != nil {
			others(phases, list)
		}
	}
}

// Over keeps the report of the run.
func (d *duetSide) Over(r *takt.Report) {
	d.report = r
}

// samples appends the rows to ops.
func (d *duetSide) samples(list []takt.Sample) {
	for i := range list {
		d.oneWay = d.oneWay || list[i].Done == takt.NoAnswer
		if len(d.ops) == mostDuetOps {
			return // complete reports the error
		}
		d.ops = append(d.ops, verify.DuetOpOf(&list[i]))
	}
}

// complete returns an error unless every operation has a row.
func (d *duetSide) complete() error {
	switch n := d.report.Counts.Scheduled; {
	case d.oneWay:
		return unsuited(errors.New("the operations of this command have no answers, so a duet has nothing to compare; ask for acknowledgements, or use --pairs"))
	case n > mostDuetOps:
		return fmt.Errorf("a round has %d operations of one side, and takt keeps at most %d; make rounds shorter with --duration after --", n, mostDuetOps)
	case n > uint64(len(d.ops)):
		return fmt.Errorf("%d of %d operations have no row, because they ended faster than takt read them; lower the rate", n-uint64(len(d.ops)), n)
	}
	return nil
}

// meetLead is the time from when both sides are ready to the common start. It is longer than
// the 20 ms that a run wakes up before its start.
const meetLead = 50 * time.Millisecond

// meeting lets both sides of a round wait for each other.
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
		return time.Now(), nil // the engine checks ctx
	}
}

package play

import (
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// Paced gives the operations of a schedule the records of a log, in the log's order and
// whatever their times. Operation n has record n; Paced skips the records of other shards.
// The end of the log ends the schedule.
type Paced struct {
	feed
	base  takt.Source
	op    takt.Op // the schedule's next operation, without its record
	have  bool    // op is filled
	taken uint64  // number of records read
}

// NewPaced wraps the schedule base.
func NewPaced(base takt.Source, records trace.Stream) *Paced {
	return &Paced{feed: feed{records: records}, base: base}
}

// Next implements takt.Source.
func (p *Paced) Next(op *takt.Op) bool {
	p.starved = false
	if !p.have {
		p.have = p.base.Next(&p.op)
	}
	if !p.have {
		return false
	}
	for p.taken <= p.op.Seq {
		if _, ok := p.next(op); !ok {
			return false
		}
		p.taken++
	}
	op.Seq, op.Due = p.op.Seq, p.op.Due
	p.have = false
	return true
}

// End implements takt.Source. If the log ended first, the end is when the first operation without
// a record would be due.
func (p *Paced) End() time.Duration {
	if p.ended && p.have && p.op.Due >= 0 {
		return p.op.Due
	}
	return p.base.End()
}

// EndedEarly reports whether the log ended before the schedule, or with an error.
func (p *Paced) EndedEarly() bool { return p.ended && (p.base.End() >= 0 || p.err != nil) }

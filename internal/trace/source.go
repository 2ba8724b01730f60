package trace

import (
	"errors"
	"io"
	"math"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// ErrNotYet is given by an Ahead that has nothing at the moment.
var ErrNotYet = errors.New("no record yet")

var errNoTimes = errors.New("the log has no times; give a rate to replay it at")

// feed gives operations their records. With it a source is what the engine calls a
// Feed: its Next never waits, and says why it had nothing.
type feed struct {
	records Stream
	read    Record
	starved bool
	ended   bool
	err     error
}

// next puts a copy of the next record into op.Data, which it reuses: an operation
// lasts longer than the stream keeps a record.
func (f *feed) next(op *takt.Op) (*Record, bool) {
	if f.starved = false; f.ended {
		return nil, false
	}
	err := f.records.Next(&f.read)
	switch {
	case err == nil:
		rec, ok := op.Data.(*Record)
		if !ok {
			rec = new(Record)
			op.Data = rec
		}
		f.read.CopyTo(rec)
		return rec, true
	case errors.Is(err, ErrNotYet):
		f.starved = true
		return nil, false
	case err != io.EOF:
		f.err = err
	}
	f.ended = true
	return nil, false
}

// Starved reports whether the last Next had nothing only for the moment.
func (f *feed) Starved() bool { return f.starved }

// Err is what ended the log before its end; nil when there was nothing.
func (f *feed) Err() error { return f.err }

// Source makes operations of a log at its own instants. Each has a *Record as Data.
type Source struct {
	feed
	Gaps   Gaps
	speed  float64
	anchor time.Time
	seq    uint64
	last   time.Duration
	place  Place         // of the last
	cut    time.Duration // by which gaps were shortened
}

// NewSource makes the operations of records that are in order, such as those of
// Timed or an Ahead of it. The first is due at 0, the others as much later as they
// were recorded, divided by speed; a record that is out of order is due at once.
// Records without times are an error, which Err tells.
func NewSource(records Stream, speed float64) *Source {
	return &Source{feed: feed{records: records}, speed: speed}
}

// Next implements takt.Source.
func (s *Source) Next(op *takt.Op) bool {
	rec, ok := s.next(op)
	if !ok {
		return false
	}
	if rec.At.IsZero() {
		s.ended, s.err = true, errNoTimes
		return false
	}
	if s.seq == 0 {
		s.anchor, s.place = rec.At, placeOf(rec)
	}
	natural := max(s.last, scale(rec.At.Sub(s.anchor), s.speed)-s.cut)
	due, err := s.Gaps.bound(s.place, placeOf(rec), s.last, natural)
	if err != nil {
		s.ended, s.err = true, err
		return false
	}
	s.cut += natural - due
	s.last, s.place = due, placeOf(rec)
	op.Seq, op.Due = s.seq, s.last
	s.seq++
	return true
}

// scale divides by the speed, exactly at 1.
func scale(d time.Duration, speed float64) time.Duration {
	if speed == 1 {
		return d
	}
	return time.Duration(min(float64(d)/speed, math.MaxInt64/2))
}

// End implements takt.Source, once the last operation is known: see Behind.
func (s *Source) End() time.Duration {
	if !s.ended || s.seq == 0 {
		return -1
	}
	return Behind(s.last, s.seq)
}

// Behind is when a schedule of n operations is over, the last of which is due then: as
// much later as they are apart on average, so that n in that time is their rate. Of
// operations that are all due at once it is a second.
func Behind(last time.Duration, n uint64) time.Duration {
	if n < 2 || last <= 0 {
		return last + time.Second
	}
	return last + max(1, last/time.Duration(n-1))
}

// EndedEarly reports whether a fault ended the log.
func (s *Source) EndedEarly() bool { return s.ended && s.err != nil }

// Paced gives the operations of a schedule the records of a log in its order,
// whatever their times. Operation n has record n; those of other shards are passed
// over. The log's end is the schedule's, too.
type Paced struct {
	feed
	base  takt.Source
	op    takt.Op // of the schedule, without its record
	have  bool
	taken uint64
}

// NewPaced wraps the schedule base.
func NewPaced(base takt.Source, records Stream) *Paced {
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

// End implements takt.Source. A schedule without an end ends at the instant at which
// the operation is due that has no record any more.
func (p *Paced) End() time.Duration {
	end := p.base.End()
	if end < 0 && p.ended && p.have && p.op.Due >= 0 {
		return p.op.Due
	}
	return end
}

// EndedEarly reports whether the log ended before the schedule, or by a fault.
func (p *Paced) EndedEarly() bool { return p.ended && (p.base.End() >= 0 || p.err != nil) }

// PacedCounter is a Paced whose log never ends, so that the schedule alone says how
// many operations are due.
type PacedCounter struct {
	*Paced
	Counter takt.Counter
}

// DueBefore implements takt.Counter.
func (p PacedCounter) DueBefore(t time.Duration) uint64 { return p.Counter.DueBefore(t) }

// Package play says when the requests of a log are due: as operations at the recorded instants, or at
// those of a schedule, and as the spacing of another load.
package play

import (
	"errors"
	"io"
	"math"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// ErrNotYet is the error of an Ahead that has no record at the moment.
var ErrNotYet = errors.New("no record yet")

var errNoTimes = errors.New("the log has no times; give a rate to replay it at")

// feed gives operations their records. It makes a source an engine.Feed, which can say that
// it has no operation yet.
type feed struct {
	records trace.Stream
	read    trace.Record
	starved bool
	ended   bool
	err     error
}

// next puts a copy of the next record into op.Data, and reuses the Record there. It copies
// because an operation outlives the stream's record.
func (f *feed) next(op *takt.Op) (*trace.Record, bool) {
	if f.starved = false; f.ended {
		return nil, false
	}
	err := f.records.Next(&f.read)
	switch {
	case err == nil:
		rec, ok := op.Data.(*trace.Record)
		if !ok {
			rec = new(trace.Record)
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

// Starved reports whether the last Next had no operation yet, although more may come.
func (f *feed) Starved() bool { return f.starved }

// Err is the error that ended the log before its end, or nil.
func (f *feed) Err() error { return f.err }

// Source returns the operations of a log at the recorded instants. Each has a *Record as Data.
type Source struct {
	feed
	Gaps   Gaps
	speed  float64
	anchor time.Time
	seq    uint64
	last   time.Duration
	place  trace.Place   // place of the last record
	cut    time.Duration // total time by which gaps were shortened
}

// NewSource returns the operations of records that are in order, such as those of trace.Timed or
// an Ahead of it. The first operation is due at 0, the others after their recorded distance
// from it divided by speed. A record that is out of order is due together with the one
// before it. A record without a time ends the source, and Err returns the error.
func NewSource(records trace.Stream, speed float64) *Source {
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
		s.anchor, s.place = rec.At, trace.PlaceOf(rec)
	}
	natural := max(s.last, scale(rec.At.Sub(s.anchor), s.speed)-s.cut)
	due, err := s.Gaps.bound(s.place, trace.PlaceOf(rec), s.last, natural)
	if err != nil {
		s.ended, s.err = true, err
		return false
	}
	s.cut += natural - due
	s.last, s.place = due, trace.PlaceOf(rec)
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

// End implements takt.Source. Before the last operation is known it returns -1, then see
// Behind.
func (s *Source) End() time.Duration {
	if !s.ended || s.seq == 0 {
		return -1
	}
	return Behind(s.last, s.seq)
}

// Behind is the end of a schedule of n operations whose last one is due at last: one average
// distance later, so that n ÷ end is their rate. For a single operation, or operations that
// are all due at 0, it is one second after last.
func Behind(last time.Duration, n uint64) time.Duration {
	if n < 2 || last <= 0 {
		return last + time.Second
	}
	return last + max(1, last/time.Duration(n-1))
}

// EndedEarly reports whether an error ended the log.
func (s *Source) EndedEarly() bool { return s.ended && s.err != nil }

// EndedBefore reports whether feed ended before its schedule, or before another end of that; a negative one is unknown.
func EndedBefore(feed interface {
	End() time.Duration
	EndedEarly() bool
}, end time.Duration) bool {
	at := feed.End()
	return feed.EndedEarly() || at >= 0 && at < end
}

// Sooner is the earlier of two ends of a schedule; a negative one is unknown.
func Sooner(a, b time.Duration) time.Duration {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

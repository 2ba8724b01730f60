package engine

import (
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// PartTimes are the latencies of answers that come in parts: a driver whose codecs are Parted has them as Driver.Timed,
// with names of its own for the first part. They follow NetPhases. An operation has its first part from due and from
// sent (unknown: from sent, at most, since takt read it too late to know when it came), and its longest known gap between
// two parts. The gaps are not of operations: how long each was, or, if that is not known, at most was.
func PartTimes(due, sent, unknown string, more ...takt.Timed) []takt.Timed {
	return append([]takt.Timed{
		{Name: sent}, {Name: due, Row: true, Course: true}, {Name: unknown},
		{Name: "maxgap", Row: true, Course: true}, {Name: "gap", Course: true}, {Name: "gap_unknown"},
	}, more...)
}

// The places of PartTimes in takt.Result.Timed.
const (
	RowFirstPart = iota
	RowMaxGap
	RowOwn // the first of a driver's own
)

// The phases of PartTimes, for Coming.Record.
const (
	PhaseFirstPart = phaseDial + 1 + iota
	PhaseFirstPartDue
	PhaseFirstPartUnknown
	PhaseMaxGap
	PhaseGap
	PhaseGapUnknown
)

// Parted is implemented by codecs and muxes that measure the parts of answers. Instants count from the start of the run.
type Parted interface {
	// Starts says that an operation begins, whose result r will be until its end. The tag is that of a mux, of a codec 0.
	Starts(tag int, due, sent time.Duration, r *takt.Result)
	// Stops says that an operation ends at that instant without the rest of its answer, such as by a timeout.
	Stops(tag int, at time.Duration, record func(phase int, due, d time.Duration))
	// Came says when the bytes came that the next Parse has in addition.
	Came(c Coming)
}

// Coming says when bytes came.
type Coming struct {
	From time.Duration // no byte came before
	At   time.Duration // the last one came
	// Record adds a latency to a phase of PartTimes.
	Record func(phase int, due, d time.Duration)
}

// parting is how connections that are not of a loop measure parts. The zero parting measures none: such as before the run.
type parting struct {
	begun  time.Time
	record func(phase int, due, d time.Duration)
}

// measures lets o measure parts from the start of the run on.
func (o *Observed) measures(begun time.Time, rec *record.Recorder) {
	o.parting.Store(&parting{begun, func(phase int, due, d time.Duration) { rec.Latency(phase, phase, due, d) }})
}

// starts tells whoever measures parts that op begins, which was sent at start and whose result is r.
func (c *conn) starts(op *takt.Op, start time.Time, r *takt.Result) {
	if c.parted == nil {
		return
	}
	if p := c.observed.parting.Load(); p != nil {
		c.timed, c.emptied = true, start
		sent := start.Sub(p.begun)
		due := op.Due
		if due < 0 {
			due = sent
		}
		c.parted.Starts(0, due, sent, r)
	}
}

// stops tells whoever measures parts that the operation ends now without the rest of its answer.
func (c *conn) stops() {
	if p := c.observed.parting.Load(); c.timed && p != nil {
		c.parted.Stops(0, c.world.Now().Sub(p.begun), p.record)
	}
	c.timed = false
}

// came tells whoever measures parts when that came which was just read: bytes, or the end. Before, the socket was empty
// when the read before had returned, if that read had not filled its buffer.
func (c *conn) came() {
	if c.parted == nil {
		return
	}
	p := c.observed.parting.Load()
	if p == nil {
		return
	}
	at, _ := c.arrived()
	from := at
	if c.emptied.Before(at) {
		from = c.emptied
	}
	if c.emptied = at; !c.more {
		c.emptied = c.world.Now()
	}
	c.parted.Came(Coming{From: from.Sub(p.begun), At: at.Sub(p.begun), Record: p.record})
}

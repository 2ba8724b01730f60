package engine

import (
	"time"

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

// Parted is implemented by codecs and muxes that measure the parts of answers. Only the loop mode supports them. Instants
// count from the start of the run.
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

package engine

import (
	"time"
)

// PartPhases are the latencies of answers that come in parts. A driver whose codecs are Parted has them as
// Driver.Phases; they follow NetPhases, and are in no Result. An operation has its first part from sent and from due
// (unknown: from sent, at most, since takt read it too late to know when it came), and its longest known gap between
// two parts. The last two are of gaps, not of operations: how long each was, or, if that is not known, at most was.
var PartPhases = []string{"first_part", "first_part_due", "first_part_unknown", "maxgap", "gap", "gap_unknown"}

// The phases of PartPhases, for Coming.Record.
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
	// Starts says that an operation begins. The tag is that of a mux, of a codec 0.
	Starts(tag int, due, sent time.Duration)
	// Stops says that an operation ends at that instant without the rest of its answer, such as by a timeout.
	Stops(tag int, at time.Duration, record func(phase int, due, d time.Duration))
	// Came says when the bytes came that the next Parse has in addition.
	Came(c Coming)
}

// Coming says when bytes came.
type Coming struct {
	From time.Duration // no byte came before
	At   time.Duration // the last one came
	// Record adds a latency to a phase of PartPhases.
	Record func(phase int, due, d time.Duration)
}

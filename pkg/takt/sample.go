package takt

import "time"

// Sample is one operation as it went, for the outputs that have a row for each.
// Instants count from the run's start. Operations of the warm-up and messages
// that were only received have none.
type Sample struct {
	Seq           uint64                   // position in the whole schedule
	Due, Free     time.Duration            // as the package comment has them
	Sent          time.Duration            // NotSent: it never was
	Done          time.Duration            // unfinished: the instant of the cut; dropped: Due; NoAnswer: see there
	Phases        [MaxPhases]time.Duration // in the order of Driver.Phases; 0: did not happen
	BytesSent     int64                    // on the wire
	BytesReceived int64
	Status        int    // the protocol's own result code; 0: none
	Class         string // "": ok; ClassDropped, ClassUnfinished, or the driver's
}

// NotSent as Sample.Sent: the operation was dropped, or still queued at the cut.
const NotSent time.Duration = -1

// NoAnswer as Sample.Done: nobody answers, see Driver.OneWay.
const NoAnswer time.Duration = -1

// Classes of operations that did not end. Drivers have others.
const (
	ClassDropped    = "dropped"
	ClassUnfinished = "unfinished"
)

package takt

import "time"

// Sample is one operation, for outputs with a row per operation. Instants count from the
// run's start. Operations of the warm-up and received messages have no Sample.
type Sample struct {
	Seq           uint64                   // position in the whole schedule
	Due, Free     time.Duration            // see the package comment
	Behind        time.Duration            // part of the wait until Free that the generator caused: it was late with operations before
	Sent          time.Duration            // NotSent: never sent
	Done          time.Duration            // unfinished: the instant of the cut; dropped: Due; or NoAnswer
	Phases        [MaxPhases]time.Duration // in the order of Driver.Phases; 0: did not happen
	Timed         [MaxTimed]time.Duration  // as in Result
	Goal          Goal                     // as in Result
	BytesSent     int64                    // on the wire
	BytesReceived int64
	Status        int    // the protocol's own result code; 0: none
	Class         string // "": ok; ClassDropped, ClassUnfinished, or a class of the driver
	Step          int    // number of the step of a scenario, from 1; 0: there are no steps
}

// NotSent as Sample.Sent: the operation was dropped, or queued at the cut.
const NotSent time.Duration = -1

// NoAnswer as Sample.Done: there are no answers, see Driver.OneWay.
const NoAnswer time.Duration = -1

// Classes of operations that did not end. Drivers add their own classes.
const (
	ClassDropped    = "dropped"
	ClassUnfinished = "unfinished"
)

// Package takt defines the terms of the load generator: operations, the drivers
// that perform them, and the report of the result. It computes nothing and imports
// only the standard library, so all other packages can share its terms.
//
// An operation has four instants, all counted from the run's start:
//
//	due   the operation starts according to the schedule
//	sent  the generator begins the operation (dials, or hands over the first byte)
//	done  the operation ended
//	free  the operation could have been sent: due, or later if every connection
//	      or in-flight slot was in use
//
// Response time = done − due. Service time = done − sent. Send delay = sent − due.
// Schedule lag = sent − max(due, free), the generator's own lateness.
// Queue wait = send delay − schedule lag.
package takt

import "time"

// Asap as Op.Due means: due when the operation is taken. In a closed loop every operation is
// Asap.
const Asap time.Duration = -1

// MaxPhases is the largest number of a driver's own latencies per operation.
const MaxPhases = 6

// MaxTimed is the largest number of latencies of Driver.Timed with Row.
const MaxTimed = 4

// Op is one operation to perform: an HTTP request, a Kafka record, a JMS message.
type Op struct {
	Seq   uint64        // position in the whole schedule, from 0, unchanged by splitting
	Due   time.Duration // due instant since the run's start, or Asap
	Data  any           // content from a list of operations; filled and reused by the Source, read by the driver
	Token uint64        // identifies the operation in Sink.Done; set by the engine
}

// Source returns operations in due order. It has one consumer at a time.
type Source interface {
	// Next fills op and reports whether there was an operation. It may reuse op.Data, which
	// belongs to the owner of the Op.
	Next(op *Op) bool
	// End is the end of the schedule, later than the last due instant; negative: unknown
	// (yet).
	End() time.Duration
}

// Counter is a Source that also counts the operations due before an instant, without
// consuming them. Instants rise from call to call. A Counter lets intervals count a backlog
// in the second in which it was due.
type Counter interface {
	Source
	DueBefore(t time.Duration) uint64
}

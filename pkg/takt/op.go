// Package takt holds the words of the load generator: operations, the drivers
// that perform them, and the report that says how it went. It computes nothing
// and imports only the standard library, so that everything else can agree on
// its terms.
//
// Four instants make up an operation's life, all counted from the run's start:
//
//	due   the schedule says it starts
//	sent  the generator begins to act for it (dials, or hands over the first byte)
//	done  it ended
//	free  from then on it could have been sent: due, or later when every
//	      connection or in-flight slot was taken
//
// Response time = done − due. Service time = done − sent. Send delay = sent − due.
// Schedule lag = sent − max(due, free), the generator's own lateness.
// Queue wait = send delay − schedule lag.
package takt

import "time"

// Asap as Op.Due means: due when it is taken. Closed loops consist of nothing else.
const Asap time.Duration = -1

// MaxPhases is how many latencies of its own a driver can report for one operation.
const MaxPhases = 6

// Op is one operation to perform: an HTTP request, a Kafka record, a JMS message.
type Op struct {
	Seq   uint64        // position in the whole schedule, from 0, unchanged by splitting
	Due   time.Duration // since the run's start, or Asap
	Data  any           // what to do, where a list says so; filled and reused by the Source, read by the driver
	Token uint64        // names the operation to Sink.Done; set by the engine
}

// Source gives operations in due order. It has one consumer at a time.
type Source interface {
	// Next fills op and reports whether there was one. It may reuse what op.Data
	// holds: that belongs to the holder of the Op.
	Next(op *Op) bool
	// End is the end of the schedule, which is later than the last due instant;
	// negative: not known (yet).
	End() time.Duration
}

// Counter is a Source that can also tell how many operations are due before an
// instant, without consuming them. Instants are asked in rising order. With it
// the interval figures count a backlog in the second in which it fell due.
type Counter interface {
	Source
	DueBefore(t time.Duration) uint64
}

package amqp

import (
	"context"
	"maps"
	"time"
)

// TB is what a Fake needs from a test.
type TB interface {
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Cleanup(func())
	Context() context.Context
}

// Fake is a small AMQP 1.0 broker for tests of other packages, with queues in memory; it
// treats topics as queues. Set its fields before Serve.
type Fake struct {
	Outcome func(n int) (s State, settled bool) // outcome of a link's n-th message; nil: all are accepted
	Credit  uint32                              // credit of a sender; 0: 100
	Die     int                                 // number of the transfer at which it ends the connection; 0: never
	Refuse  *Error                              // error with which every link is refused
	Is      map[string]string                   // additional properties of its open
	b       *broker
}

// Serve returns the address of a broker that runs until the test ends.
func (f *Fake) Serve(t TB) string {
	f.b = &broker{t: t, script: script{credit: f.Credit, refuse: f.Refuse}}
	f.b.script.open = func(o *open) { maps.Copy(o.properties, f.Is) }
	if f.Die > 0 {
		f.b.script.atTransfer = func(c *serving, n int) {
			if n == f.Die {
				c.die()
			}
		}
	}
	if f.Outcome != nil {
		is := [...]uint64{Accepted: isAccepted, Rejected: isRejected, Released: isReleased, Modified: isModified}
		f.b.script.outcome = func(n int) (uint64, *Error, bool) {
			s, settled := f.Outcome(n)
			if s == Lost { // no outcome is ever sent
				return isReceived, nil, false
			}
			return is[s], nil, settled
		}
	}
	return f.b.serve()
}

// Depth is the number of messages in a queue.
func (f *Fake) Depth(queue string) int { return len(f.b.messages(queue)) }

// Push adds encoded messages to a queue, for later receivers.
func (f *Fake) Push(queue string, messages ...[]byte) { f.b.push(queue, messages...) }

// Saw is the number of performatives received that begin with what, such as "attach sender
// Q".
func (f *Fake) Saw(what string) int { return f.b.saw(what) }

// script is the behaviour of a broker. With the zero script the broker accepts everything.
type script struct {
	mechanisms []string      // nil: PLAIN and ANONYMOUS
	saslCode   byte          // code of the SASL outcome
	maxFrame   uint32        // 0: 64 KiB
	idle       time.Duration // idle timeout that it announces
	window     uint32        // window of a session, in transfers; 0: 2048
	credit     uint32        // credit of a sender; 0: 100
	first      uint32        // number of the first delivery, and delivery-count of its senders
	maxMessage uint64        //
	mute       bool          // no frames are sent after open
	open       func(o *open) // changes the broker's open
	refuse     *Error        // error with which every attach is refused
	outcome    func(n int) (is uint64, why *Error, settled bool)
	atTransfer func(c *serving, n int) // called before the n-th transfer, from 1, is handled
}

package amqp

import (
	"context"
	"maps"
	"time"
)

// TB is what a Fake wants of a test.
type TB interface {
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Cleanup(func())
	Context() context.Context
}

// Fake is a small AMQP 1.0 broker for the tests of other packages, with queues in
// memory; topics are queues to it. Set before Serve how it behaves.
type Fake struct {
	Outcome func(n int) (s State, settled bool) // of a link's n-th message; nil: all are accepted
	Credit  uint32                              // of a sender; 0: 100
	Die     int                                 // it ends the connection at its n-th transfer; 0: never
	Refuse  *Error                              // of every link
	Is      map[string]string                   // properties of its open, beside those of every fake
	b       *broker
}

// Serve gives the address of a broker that lives as long as the test.
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
			if s == Lost { // it never says
				return isReceived, nil, false
			}
			return is[s], nil, settled
		}
	}
	return f.b.serve()
}

// Depth is how many messages a queue has.
func (f *Fake) Depth(queue string) int { return len(f.b.messages(queue)) }

// Push puts encoded messages into a queue, for receivers that come later.
func (f *Fake) Push(queue string, messages ...[]byte) { f.b.push(queue, messages...) }

// Saw is how often a performative came that begins like what, such as "attach sender Q".
func (f *Fake) Saw(what string) int { return f.b.saw(what) }

// script is how a broker behaves. The zero script is a friendly one.
type script struct {
	mechanisms []string      // nil: PLAIN and ANONYMOUS
	saslCode   byte          // of the outcome
	maxFrame   uint32        // 0: 64 KiB
	idle       time.Duration // that it announces
	window     uint32        // of a session, in transfers; 0: 2048
	credit     uint32        // of a sender; 0: 100
	first      uint32        // number of the first delivery, and delivery-count of its senders
	maxMessage uint64        //
	mute       bool          // it says nothing behind open
	open       func(o *open) // changes the broker's open
	refuse     *Error        // of every attach
	outcome    func(n int) (is uint64, why *Error, settled bool)
	atTransfer func(c *serving, n int) // before the n-th transfer, from 1, is handled
}

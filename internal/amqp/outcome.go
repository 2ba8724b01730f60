package amqp

import (
	"errors"

	"github.com/taktload/takt/internal/amqp/wire"
)

// State is the result of a sent message.
type State byte

// The values of State.
const (
	Accepted State = iota
	Rejected       // the message is invalid for the broker
	Released       // the broker did not process the message
	Modified       // the broker tried and did not process the message
	Lost           // the link, session or connection ended first; the broker may have the message
)

func (s State) String() string {
	return [...]string{"accepted", "rejected", "released", "modified", "lost"}[s]
}

// Outcome is the end of a delivery. Err is nil if it was accepted, and wraps the broker's
// *Error if there is one.
type Outcome struct {
	State State
	Err   error
	txn   []byte // declared transaction; valid during the callback
}

var (
	errRejected = errors.New("the broker rejected the message")
	errReleased = errors.New("the broker released the message")
	errModified = errors.New("the broker released the message after a try")
	errNoState  = errors.New("the broker settled the message without an outcome")
)

// outcomeOf converts a state; ok is false if it is not final.
func outcomeOf(s *wire.State, settled bool) (o Outcome, ok bool) {
	switch s.Is {
	case wire.IsAccepted:
		return Outcome{}, true
	case wire.IsDeclared:
		return Outcome{txn: s.Txn}, true
	case wire.IsRejected:
		if e := wire.ReadError(s.Why); e != nil {
			return Outcome{State: Rejected, Err: e}, true
		}
		return Outcome{State: Rejected, Err: errRejected}, true
	case wire.IsReleased:
		return Outcome{State: Released, Err: errReleased}, true
	case wire.IsModified:
		return Outcome{State: Modified, Err: errModified}, true
	}
	return Outcome{State: Lost, Err: errNoState}, settled
}

// disposed handles the outcomes of a range of deliveries.
func (s *Session) disposed(l *wire.Fields) error {
	var p wire.Disposition
	if p.Read(l); l.Bad {
		return wire.Malformed("a disposition with fields that make no sense")
	}
	o, ok := outcomeOf(&p.State, p.Settled)
	if !ok || !p.ByReceiver {
		return nil // about messages from the broker: our acceptance settles them
	}
	s.c.mu.Lock()
	s.settled = s.unsettled.take(p.First, p.Last, s.settled[:0])
	if !p.Settled {
		s.settle(false, p.First, p.Last, wire.State{Is: p.State.Is})
		s.c.poke()
	}
	s.c.mu.Unlock()
	s.tell(o)
	return nil
}

// tell passes an outcome to the senders of the deliveries in s.settled.
func (s *Session) tell(o Outcome) {
	for i, d := range s.settled {
		if d.sender.opt.OnSettled != nil {
			d.sender.opt.OnSettled(d.token, o)
		}
		s.settled[i].sender = nil
	}
}

// settle sends that deliveries are settled; under mu.
func (s *Session) settle(byReceiver bool, first, last uint32, st wire.State) {
	out := &s.c.out.waits
	at := len(*out)
	p := wire.Disposition{ByReceiver: byReceiver, First: first, Last: last, Settled: true, State: st}
	*out = wire.CloseFrame(p.Append(wire.OpenFrame(*out, wire.FrameAMQP, s.channel)), at)
}

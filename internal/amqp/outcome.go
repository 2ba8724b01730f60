package amqp

import "errors"

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

// outcome converts a state; ok is false if it is not final.
func (s *state) outcome(settled bool) (o Outcome, ok bool) {
	switch s.is {
	case isAccepted:
		return Outcome{}, true
	case isDeclared:
		return Outcome{txn: s.txn}, true
	case isRejected:
		if e := readError(s.why); e != nil {
			return Outcome{State: Rejected, Err: e}, true
		}
		return Outcome{State: Rejected, Err: errRejected}, true
	case isReleased:
		return Outcome{State: Released, Err: errReleased}, true
	case isModified:
		return Outcome{State: Modified, Err: errModified}, true
	}
	return Outcome{State: Lost, Err: errNoState}, settled
}

// disposed handles the outcomes of a range of deliveries.
func (s *Session) disposed(l *fields) error {
	var p disposition
	if p.read(l); l.bad {
		return malformed("a disposition with fields that make no sense")
	}
	o, ok := p.state.outcome(p.settled)
	if !ok || !p.byReceiver {
		return nil // about messages from the broker: our acceptance settles them
	}
	s.c.mu.Lock()
	s.settled = s.unsettled.take(p.first, p.last, s.settled[:0])
	if !p.settled {
		s.settle(false, p.first, p.last, state{is: p.state.is})
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
func (s *Session) settle(byReceiver bool, first, last uint32, st state) {
	out := &s.c.out.waits
	at := len(*out)
	p := disposition{byReceiver: byReceiver, first: first, last: last, settled: true, state: st}
	*out = closeFrame(p.append(openFrame(*out, frameAMQP, s.channel)), at)
}

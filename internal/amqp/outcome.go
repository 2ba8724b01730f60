package amqp

import "errors"

// State is what became of a message that was sent.
type State byte

// The values of State.
const (
	Accepted State = iota
	Rejected       // the broker takes it for invalid
	Released       // the broker did not process it
	Modified       // the same, after a try
	Lost           // the link, session or connection ended before; the broker may have it
)

func (s State) String() string {
	return [...]string{"accepted", "rejected", "released", "modified", "lost"}[s]
}

// Outcome is how a delivery ended. Err is nil if it was accepted, and wraps an
// *Error where the broker gave one.
type Outcome struct {
	State State
	Err   error
	txn   []byte // that was declared; good during the callback
}

var (
	errRejected = errors.New("the broker rejected the message")
	errReleased = errors.New("the broker released the message")
	errModified = errors.New("the broker released the message after a try")
	errNoState  = errors.New("the broker settled the message without an outcome")
)

// outcome tells what a state means; ok is false if more is to come.
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

// disposed takes the outcomes of a range of deliveries.
func (s *Session) disposed(l *fields) error {
	var p disposition
	if p.read(l); l.bad {
		return malformed("a disposition with fields that make no sense")
	}
	o, ok := p.state.outcome(p.settled)
	if !ok || !p.byReceiver {
		return nil // of what it sends: everything is settled when we accept it
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

// tell gives an outcome to those whose deliveries stand in s.settled.
func (s *Session) tell(o Outcome) {
	for i, d := range s.settled {
		if d.sender.opt.OnSettled != nil {
			d.sender.opt.OnSettled(d.token, o)
		}
		s.settled[i].sender = nil
	}
}

// settle says that deliveries are settled; under mu.
func (s *Session) settle(byReceiver bool, first, last uint32, st state) {
	out := &s.c.out.waits
	at := len(*out)
	p := disposition{byReceiver: byReceiver, first: first, last: last, settled: true, state: st}
	*out = closeFrame(p.append(openFrame(*out, frameAMQP, s.channel)), at)
}

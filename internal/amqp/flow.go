package amqp

import (
	"math"

	"github.com/taktload/takt/internal/amqp/wire"
)

// flowed handles a flow: the broker's window of the session, and credit of one link.
func (s *Session) flowed(f *wire.Fields) error {
	var w wire.Flow
	if w.Read(f); f.Bad {
		return wire.Malformed("a flow with fields that make no sense")
	}
	if !w.OfLink {
		s.c.mu.Lock()
		s.widen(&w)
		if w.Echo {
			s.flow(wire.Flow{})
		}
		s.c.mu.Unlock()
		s.roomy()
		return nil
	}
	l, err := s.at(w.Handle)
	if err != nil {
		return err
	}
	l.flowed(&w)
	return nil
}

// widen applies the session's part of a flow; under mu. The flow may not account for
// transfers that were sent since (part 2, section 2.5.6).
func (s *Session) widen(w *wire.Flow) {
	underway := s.nextOutgoing // the first number was 0
	if w.Begun {
		underway -= w.NextIncoming
	}
	s.widest = max(s.widest, w.Incoming)
	s.window = w.Incoming - min(w.Incoming, underway)
}

// roomy tells all senders that the window has room.
func (s *Session) roomy() {
	for _, l := range s.remote {
		if l != nil && l.sender != nil && l.sender.opt.OnCredit != nil {
			l.sender.opt.OnCredit(l.sender.Credit())
		}
	}
}

// flowed applies the link's part of a flow.
func (l *link) flowed(w *wire.Flow) {
	c := l.s.c
	c.mu.Lock()
	l.s.widen(w)
	if l.sender != nil {
		l.sender.grant(w)
	}
	if w.Echo || w.Drain && l.sender != nil {
		l.flow()
	}
	all := l.s.narrow // other links than l may wait for the window
	l.s.narrow = false
	c.mu.Unlock()
	switch {
	case all:
		l.s.roomy()
	case l.sender != nil && l.sender.opt.OnCredit != nil:
		l.sender.opt.OnCredit(l.sender.Credit())
	}
}

// grant applies a sender's credit, which is a limit counted from the first message. If the
// broker asks to drain, the sender has nothing to send, and says that the credit is used up
// (part 2, section 2.6.7).
func (s *Sender) grant(w *wire.Flow) {
	limit := w.Credit
	if w.Counted {
		limit += w.DeliveryCount
	}
	s.credit = uint32(max(0, int32(limit-s.count)))
	if w.Drain {
		s.count += s.credit
		s.credit = 0
	}
}

// flow sends the state of a link; under mu.
func (l *link) flow() {
	w := wire.Flow{OfLink: true, Handle: l.handle}
	if l.sender != nil {
		w.DeliveryCount, w.Credit = l.sender.count, l.sender.credit
	} else {
		w.DeliveryCount, w.Credit = l.receiver.count, l.receiver.credit
	}
	l.s.flow(w)
}

// flow sends w with the state of the session; under mu.
func (s *Session) flow(w wire.Flow) {
	w.Begun, w.NextIncoming, w.Incoming = true, s.nextIncoming, incomingWindow
	w.NextOutgoing, w.Outgoing = s.nextOutgoing, math.MaxInt32
	out := &s.c.out.waits
	at := len(*out)
	*out = wire.CloseFrame(w.Append(wire.OpenFrame(*out, wire.FrameAMQP, s.channel)), at)
}

package amqp

import "math"

// flowed takes a flow: how much the broker takes in the session, and on one link.
func (s *Session) flowed(f *fields) error {
	var w flow
	if w.read(f); f.bad {
		return malformed("a flow with fields that make no sense")
	}
	if !w.ofLink {
		s.c.mu.Lock()
		s.widen(&w)
		if w.echo {
			s.flow(flow{})
		}
		s.c.mu.Unlock()
		s.roomy()
		return nil
	}
	l, err := s.at(w.handle)
	if err != nil {
		return err
	}
	l.flowed(&w)
	return nil
}

// widen takes the session's part of a flow; under mu. The broker may not have
// seen yet what was sent since (part 2, section 2.5.6).
func (s *Session) widen(w *flow) {
	underway := s.nextOutgoing // the first number was 0
	if w.begun {
		underway -= w.nextIncoming
	}
	s.widest = max(s.widest, w.incoming)
	s.window = w.incoming - min(w.incoming, underway)
}

// roomy tells all senders, which the window may have held up.
func (s *Session) roomy() {
	for _, l := range s.remote {
		if l != nil && l.sender != nil && l.sender.opt.OnCredit != nil {
			l.sender.opt.OnCredit(l.sender.Credit())
		}
	}
}

// flowed takes the link's part of a flow.
func (l *link) flowed(w *flow) {
	c := l.s.c
	c.mu.Lock()
	l.s.widen(w)
	if l.sender != nil {
		l.sender.grant(w)
	}
	if w.echo || w.drain && l.sender != nil {
		l.flow()
	}
	all := l.s.narrow // others than l may have waited for the window
	l.s.narrow = false
	c.mu.Unlock()
	switch {
	case all:
		l.s.roomy()
	case l.sender != nil && l.sender.opt.OnCredit != nil:
		l.sender.opt.OnCredit(l.sender.Credit())
	}
}

// grant takes the credit of a sender: up to which message the broker takes them,
// counted from the first. Asked to drain, it has nothing to send, and says that it
// has used the credit up (part 2, section 2.6.7).
func (s *Sender) grant(w *flow) {
	limit := w.credit
	if w.counted {
		limit += w.deliveryCount
	}
	s.credit = uint32(max(0, int32(limit-s.count)))
	if w.drain {
		s.count += s.credit
		s.credit = 0
	}
}

// flow tells the state of a link; under mu.
func (l *link) flow() {
	w := flow{ofLink: true, handle: l.handle}
	if l.sender != nil {
		w.deliveryCount, w.credit = l.sender.count, l.sender.credit
	} else {
		w.deliveryCount, w.credit = l.receiver.count, l.receiver.credit
	}
	l.s.flow(w)
}

// flow tells the state of the session beside what w has of a link; under mu.
func (s *Session) flow(w flow) {
	w.begun, w.nextIncoming, w.incoming = true, s.nextIncoming, incomingWindow
	w.nextOutgoing, w.outgoing = s.nextOutgoing, math.MaxInt32
	out := &s.c.out.waits
	at := len(*out)
	*out = closeFrame(w.append(openFrame(*out, frameAMQP, s.channel)), at)
}

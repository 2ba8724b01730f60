package amqp

// link is what senders and receivers have in common. Exactly one of sender and
// receiver is set.
type link struct {
	s        *Session
	name     string
	handle   uint32
	ready    chan struct{} // closed when the broker has answered, or never will
	gone     chan struct{} // closed when it has ended
	sender   *Sender
	receiver *Receiver
	onDetach func(error)

	// Under Conn.mu.
	err   error // why it ended
	asked bool  // a detach was sent
}

func newLink(s *Session, name string) link {
	return link{s: s, name: name, ready: make(chan struct{}), gone: make(chan struct{})}
}

// over is why nothing can be done with the link any more; under mu.
func (l *link) over() error {
	switch {
	case l.err != nil:
		return l.err
	case l.asked:
		return ErrClosed
	}
	return l.s.over()
}

func (l *link) receives() bool { return l.receiver != nil }

// Name is the link's name; that of a durable subscription names it.
func (l *link) Name() string { return l.name }

// Err is why the link ended: ErrClosed after Detach, nil as long as it lives.
func (l *link) Err() error {
	l.s.c.mu.Lock()
	defer l.s.c.mu.Unlock()
	return l.err
}

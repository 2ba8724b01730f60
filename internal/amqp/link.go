package amqp

// link is the common part of senders and receivers. Exactly one of sender and receiver is
// set.
type link struct {
	s        *Session
	name     string
	handle   uint32
	ready    chan struct{} // closed when the broker has answered, or will never answer
	gone     chan struct{} // closed when the link has ended
	sender   *Sender
	receiver *Receiver
	onDetach func(error)

	// Guarded by Conn.mu.
	err   error // reason for the end
	asked bool  // a detach was sent

	answered bool // the broker has sent an attach; only the reader uses it
}

func newLink(s *Session, name string) link {
	return link{s: s, name: name, ready: make(chan struct{}), gone: make(chan struct{})}
}

// over returns why the link is no longer usable; under mu.
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

// Name is the link's name, and that of its durable subscription.
func (l *link) Name() string { return l.name }

// Err is why the link ended: ErrClosed after Detach, nil while the link is open.
func (l *link) Err() error {
	l.s.c.mu.Lock()
	defer l.s.c.mu.Unlock()
	return l.err
}

package amqp

import (
	"context"
	"errors"
	"math"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Session is a channel of a connection. Deliveries are numbered per session in each
// direction, and links of one session share its windows.
type Session struct {
	c       *Conn
	channel uint16
	ready   chan struct{} // closed when the broker has answered, or will never answer
	gone    chan struct{} // closed when the session has ended

	// Guarded by c.mu.
	err       error // reason for the end
	asked     bool  // our end was sent
	handleMax uint32
	links     []*link // by handle; nil: free

	nextOutgoing uint32 // number of the next transfer
	window       uint32 // number of transfers that the broker still accepts
	widest       uint32 // largest window so far
	narrow       bool   // a message waits for the window, and no sender was told since
	unsettled    ring   // sent deliveries without an outcome

	nextIncoming uint32

	// Only the reader uses the following fields.
	remote  []*link // by the broker's handle
	settled []sent
}

// incomingWindow is the session's window for the broker, always open: credit limits the
// broker. It is sent with each credit.
const incomingWindow = math.MaxInt32

// handleMax limits the links of a session.
const handleMax = 4095

// Session begins a session.
func (c *Conn) Session(ctx context.Context) (*Session, error) {
	s, err := c.begin()
	if err != nil {
		return nil, err
	}
	if err := await(ctx, s.ready); err != nil {
		s.leave()
		return nil, err
	}
	return s, s.Err()
}

func (c *Conn) begin() (*Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.over(); err != nil {
		return nil, err
	}
	s := &Session{c: c, ready: make(chan struct{}), gone: make(chan struct{}), handleMax: handleMax}
	channel := place(&c.sessions, s)
	if channel > int(min(c.opt.ChannelMax, c.peer.ChannelMax)) {
		c.sessions[channel] = nil
		return nil, errors.New("the connection has no channel left for a session; use more connections")
	}
	s.channel = uint16(channel)
	c.append(s.channel, &wire.Begin{Incoming: incomingWindow, Outgoing: math.MaxInt32, HandleMax: handleMax})
	c.poke()
	return s, nil
}

// begun handles the broker's begin, the answer to ours.
func (c *Conn) begun(channel uint16, l *wire.Fields) error {
	var p wire.Begin
	p.Read(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.Bad || !p.Answers || channel > c.opt.ChannelMax || int(p.Remote) >= len(c.sessions) || c.sessions[p.Remote] == nil {
		return wire.Malformed("a begin that answers none")
	}
	s := c.sessions[p.Remote]
	if isClosed(s.ready) {
		return wire.Malformed("a second begin of channel %d", channel)
	}
	if int(channel) < len(c.remote) && c.remote[channel] != nil {
		return wire.Malformed("a begin with channel %d, which another session has", channel)
	}
	placeAt(&c.remote, int(channel), s)
	s.nextIncoming = p.NextOutgoing
	s.window, s.widest = p.Incoming, p.Incoming
	s.handleMax = min(handleMax, p.HandleMax)
	close(s.ready)
	return nil
}

// Err is why the session ended: ErrClosed after Close, nil while the session is open.
func (s *Session) Err() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.err
}

// over returns why the session is no longer usable; under mu.
func (s *Session) over() error {
	switch {
	case s.err != nil:
		return s.err
	case s.asked:
		return ErrClosed
	}
	return s.c.over()
}

// Close ends the session and all its links, and waits for the broker's answer, at most until
// ctx ends. Unsettled messages have the outcome Lost.
func (s *Session) Close(ctx context.Context) error {
	s.leave()
	return await(ctx, s.gone)
}

// leave sends an end, unless the session has ended or is about to.
func (s *Session) leave() {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.err == nil && !s.asked {
		s.asked = true
		c.append(s.channel, &wire.Ending{Is: wire.IsEnd})
		c.poke()
	}
}

// handle handles a performative of the session.
func (s *Session) handle(is uint64, l *wire.Fields, rest []byte) error {
	switch is {
	case wire.IsTransfer:
		return s.received(l, rest)
	case wire.IsDisposition:
		return s.disposed(l)
	case wire.IsFlow:
		return s.flowed(l)
	case wire.IsAttach:
		return s.attached(l)
	case wire.IsDetach:
		return s.detached(l)
	case wire.IsEnd:
		s.ended(wire.ReadError(l.Next()))
		return nil
	}
	return wire.Malformed("performative 0x%x in a session", is)
}

// ended handles the broker's end: the answer to ours, or a new one to answer.
func (s *Session) ended(e *Error) {
	c := s.c
	c.mu.Lock()
	err := ended("the session", e)
	if s.asked {
		if e == nil {
			err = ErrClosed
		}
	} else {
		c.append(s.channel, &wire.Ending{Is: wire.IsEnd})
	}
	c.sessions[s.channel] = nil
	c.mu.Unlock()
	for i, other := range c.remote {
		if other == s {
			c.remote[i] = nil
		}
	}
	s.abandon(err)
}

// abandon tells all links and callers that the session has ended.
func (s *Session) abandon(err error) {
	s.c.mu.Lock()
	s.err = err
	links := s.links
	s.links = nil
	closeOnce(s.ready)
	s.c.mu.Unlock()
	for _, l := range links {
		if l != nil {
			l.abandon(err)
		}
	}
	close(s.gone)
}

// place puts v into the first free place and returns its index.
func place[T any](places *[]*T, v *T) int {
	for i, p := range *places {
		if p == nil {
			(*places)[i] = v
			return i
		}
	}
	*places = append(*places, v)
	return len(*places) - 1
}

// placeAt puts v at the broker's index, which is below a limit.
func placeAt[T any](places *[]*T, i int, v *T) {
	for len(*places) <= i {
		*places = append(*places, nil)
	}
	(*places)[i] = v
}

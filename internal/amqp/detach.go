package amqp

import (
	"context"
	"errors"
	"fmt"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Detach ends the link and waits for the broker's answer, at most until ctx ends. With close
// the broker also deletes a durable subscription; without, durable state stays. Unsettled
// messages have the outcome Lost.
func (l *link) Detach(ctx context.Context, close bool) error {
	l.leave(close)
	if err := await(ctx, l.gone); err != nil {
		return err
	}
	if err := l.Err(); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// leave sends a detach, unless the link has ended or is about to.
func (l *link) leave(close bool) {
	c := l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.err == nil && !l.asked {
		l.asked = true
		c.append(l.s.channel, &wire.Detach{Handle: l.handle, Closed: close})
		c.poke()
	}
}

// detached handles the broker's detach: the answer to ours, or a new one to answer.
func (s *Session) detached(f *wire.Fields) error {
	var d wire.Detach
	d.Read(f)
	l, err := s.at(d.Handle)
	if f.Bad || err != nil {
		return wire.Malformed("a detach of no link")
	}
	s.remote[d.Handle] = nil
	err = ended(fmt.Sprintf("link %q", l.name), d.Err)
	s.c.mu.Lock()
	if l.asked {
		if d.Err == nil {
			err = ErrClosed
		}
	} else {
		s.c.append(s.channel, &wire.Detach{Handle: l.handle, Closed: d.Closed})
	}
	s.links[l.handle] = nil
	s.c.mu.Unlock()
	l.abandon(err)
	return nil
}

// abandon ends the link: its unsettled deliveries are lost, and waiting callers are told.
func (l *link) abandon(err error) {
	c := l.s.c
	c.mu.Lock()
	l.err = err
	told := isClosed(l.ready) // otherwise the caller of attach is told
	closeOnce(l.ready)
	if l.sender != nil {
		l.s.settled = l.s.unsettled.takeOf(l.sender, l.s.settled[:0])
	}
	c.mu.Unlock()
	if l.sender != nil {
		l.s.tell(Outcome{State: Lost, Err: err})
	}
	if told && l.onDetach != nil && !errors.Is(err, ErrClosed) {
		l.onDetach(err)
	}
	close(l.gone)
}

package amqp

import (
	"context"
	"fmt"

	"github.com/taktload/takt/internal/amqp/wire"
)

// attach requests the link and waits for the broker's answer.
func (l *link) attach(ctx context.Context, a wire.Attach) error {
	if err := l.ask(a); err != nil {
		return err
	}
	if err := await(ctx, l.ready); err != nil {
		l.leave(false)
		return err
	}
	return l.Err()
}

func (l *link) ask(a wire.Attach) error {
	s := l.s
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if err := s.over(); err != nil {
		return err
	}
	if l.name != "" && s.named(l.name, l.receives()) != nil {
		return fmt.Errorf("the session has a link %q already; detach it or take another name", l.name)
	}
	handle := place(&s.links, l)
	if handle > int(s.handleMax) {
		s.links[handle] = nil
		return fmt.Errorf("the broker takes %d links in a session; use more sessions", s.handleMax+1)
	}
	if l.name == "" {
		l.name = fmt.Sprintf("%s-%d-%d", s.c.tag, s.channel, handle)
	}
	l.handle = uint32(handle)
	a.Name, a.Handle, a.ByReceiver = l.name, l.handle, l.receives()
	s.c.append(s.channel, &a)
	s.c.poke()
	return nil
}

// attached handles the broker's attach, the answer to ours. An attach without a terminus is a
// refusal; a detach with the reason follows (part 2, section 2.6.3).
func (s *Session) attached(f *wire.Fields) error {
	var a wire.Attach
	a.Read(f)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	l := s.named(a.Name, !a.ByReceiver)
	if f.Bad || a.Handle > handleMax || l == nil || l.answered {
		return wire.Malformed("an attach of link %q that answers none", a.Name)
	}
	if _, err := s.at(a.Handle); err == nil {
		return wire.Malformed("an attach with handle %d, which another link has", a.Handle)
	}
	l.answered = true
	placeAt(&s.remote, int(a.Handle), l)
	switch {
	case l.sender != nil && a.Target != nil:
		l.sender.begin(&a)
	case l.receiver != nil && a.Source != nil:
		l.receiver.begin(&a)
	default:
		return nil
	}
	close(l.ready)
	return nil
}

func (s *Session) named(name string, receives bool) *link {
	for _, l := range s.links {
		if l != nil && l.name == name && l.receives() == receives {
			return l
		}
	}
	return nil
}

// at returns the link with this handle of the broker.
func (s *Session) at(handle uint32) (*link, error) {
	if handle >= uint32(len(s.remote)) || s.remote[handle] == nil {
		return nil, wire.Malformed("handle %d, which no link has", handle)
	}
	return s.remote[handle], nil
}

package amqp

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/taktload/takt/internal/amqp/wire"
)

// SenderOptions are the options of a Sender.
type SenderOptions struct {
	Name         string   // name of the link; "": unique in the connection
	Address      string   // queue or topic
	Capabilities []string // capabilities of the target: "queue" or "topic"
	Durable      uint32   // state of the target that outlives the link: 0 nothing, 1 configuration

	// OnSettled is called once with the outcome of each message for which Send returned nil,
	// with the token given to Send.
	OnSettled func(token uint64, o Outcome)
	// OnCredit is called when the broker sends its credit, which may be 0.
	OnCredit func(credit uint32)
	// OnDetach is called when the link ends, except by Detach or Close here.
	OnDetach func(err error)
}

// Sender sends messages to one address.
type Sender struct {
	link
	opt SenderOptions
	max uint64 // largest message in bytes; 0: no limit

	// Guarded by Conn.mu.
	credit, count uint32
	tx            *Transaction
	urgent        bool   // write even if the buffer is full: no later call would retry
	head          []byte // header and transfer of a frame, to be patched
	idAt, tagAt   int    // offsets in head
	moreAt        int
}

// Sender attaches a sender and waits for the broker's answer. Credit may come later. A
// refusal wraps an *Error.
func (s *Session) Sender(ctx context.Context, o SenderOptions) (*Sender, error) {
	return s.sender(ctx, o, &wire.Terminus{Address: o.Address, Capabilities: o.Capabilities, Durable: o.Durable})
}

func (s *Session) sender(ctx context.Context, o SenderOptions, target *wire.Terminus) (*Sender, error) {
	snd := &Sender{link: newLink(s, o.Name), opt: o}
	snd.link.sender, snd.onDetach = snd, o.OnDetach
	a := wire.Attach{Source: &wire.Terminus{}, Target: target}
	if err := snd.attach(ctx, a); err != nil {
		return nil, fmt.Errorf("cannot send to %s: %w", o.Address, err)
	}
	return snd, nil
}

// begin handles the broker's answer; under mu.
func (s *Sender) begin(a *wire.Attach) {
	s.max = a.Max
	s.render()
}

// render encodes the head of all later transfers.
func (s *Sender) render() {
	b := wire.OpenFrame(s.head[:0], wire.FrameAMQP, s.s.channel)
	l := wire.OpenList(b, wire.IsTransfer)
	l.Uint(s.handle)
	l.B = append(l.Next(), wire.CodeUint, 0, 0, 0, 0)
	s.idAt = len(l.B) - 4
	l.B = append(l.Next(), wire.CodeBin8, 4, 0, 0, 0, 0)
	s.tagAt = len(l.B) - 4
	l.Uint(0)                              // message format
	l.B = append(l.Next(), wire.CodeFalse) // not settled
	l.B = append(l.Next(), wire.CodeFalse)
	s.moreAt = len(l.B) - 1
	if s.tx != nil {
		l.Skip(1)
		inner := wire.OpenList(l.Next(), wire.IsTransactional)
		inner.Binary(s.tx.id)
		l.B = inner.Close()
	}
	s.head = l.Close()
}

// Join makes later messages part of a transaction; nil: of none.
func (s *Sender) Join(tx *Transaction) {
	s.s.c.mu.Lock()
	defer s.s.c.mu.Unlock()
	s.tx = tx
	s.render()
}

// Credit is the number of messages that the broker accepts now.
func (s *Sender) Credit() uint32 {
	s.s.c.mu.Lock()
	defer s.s.c.mu.Unlock()
	return s.credit
}

// Send buffers the message of t with a body, which it copies. It does not wait: after
// ErrNoCredit or ErrBusy nothing was sent, and a later call may succeed; other errors are
// permanent. After nil OnSettled follows. Flush transmits it. t must not be in use elsewhere
// during the call.
func (s *Sender) Send(t *Template, body []byte, token uint64) error {
	return s.send(t.prefix(len(body)), body, token)
}

func (s *Sender) send(prefix, body []byte, token uint64) error {
	c := s.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.check(len(prefix) + len(body)); err != nil {
		return err
	}
	s.credit--
	s.count++
	c.messages++
	id := s.s.unsettled.push(sent{s, token})
	binary.BigEndian.PutUint32(s.head[s.idAt:], id)
	binary.BigEndian.PutUint32(s.head[s.tagAt:], id)
	s.write(prefix, body)
	if len(c.out.waits) >= flushAt {
		c.poke()
	}
	return nil
}

// check returns why a message of this size cannot be sent, ever or now.
func (s *Sender) check(size int) error {
	if err := s.over(); err != nil {
		return err
	}
	frames := uint32((size + s.room() - 1) / s.room())
	switch {
	case s.max > 0 && uint64(size) > s.max:
		return fmt.Errorf("%d bytes where the broker takes %d: %w", size, s.max, ErrTooLarge)
	case s.s.widest > 0 && frames > s.s.widest: // a window that was never open may still open
		return fmt.Errorf("%d frames where the session's window is %d: %w", frames, s.s.widest, ErrTooLarge)
	case s.credit == 0:
		return ErrNoCredit
	case frames > s.s.window:
		s.s.narrow = true
		return ErrBusy
	case !s.urgent && len(s.s.c.out.waits) >= s.s.c.opt.Buffer || s.s.unsettled.full():
		return ErrBusy
	}
	return nil
}

// room is the number of a message's bytes per frame.
func (s *Sender) room() int {
	return int(min(s.s.c.peer.MaxFrame, mostFrame)) - len(s.head)
}

// mostFrame limits a frame if the broker does not: other links of the connection wait for it.
const mostFrame = 1 << 20

// write buffers a message in as many frames as necessary; under mu.
func (s *Sender) write(prefix, body []byte) {
	out, room := &s.s.c.out.waits, s.room()
	for more := true; more; {
		n := min(room, len(prefix)+len(body))
		k := min(n, len(prefix))
		more = n < len(prefix)+len(body)
		s.head[s.moreAt] = wire.CodeFalse
		if more {
			s.head[s.moreAt] = wire.CodeTrue
		}
		binary.BigEndian.PutUint32(s.head, uint32(len(s.head)+n))
		*out = append(append(append(*out, s.head...), prefix[:k]...), body[:n-k]...)
		prefix, body = prefix[k:], body[n-k:]
		s.s.nextOutgoing++
		s.s.window--
	}
}

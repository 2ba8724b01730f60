package amqp

import (
	"fmt"

	"github.com/taktload/takt/internal/amqp/wire"
)

// received handles a transfer: a message, or a part of one.
func (s *Session) received(f *wire.Fields, payload []byte) error {
	var t wire.Transfer
	t.Read(f)
	if f.Bad {
		return wire.Malformed("a transfer with fields that make no sense")
	}
	l, err := s.at(t.Handle)
	if err != nil {
		return err
	}
	if l.receiver == nil {
		return wire.Malformed("a message for link %q, which sends", l.name)
	}
	r := l.receiver
	begins := !r.partial
	if begins && !t.First || !begins && t.First && t.ID != r.delivery.id {
		return wire.Malformed("a transfer of link %q that continues no message", l.name)
	}
	if begins {
		r.delivery.id, r.delivery.settled = t.ID, false
	}
	r.delivery.settled = r.delivery.settled || t.Settled
	if !r.counted(begins) {
		return wire.Malformed("a message for link %q, which has given no credit yet", l.name)
	}
	whole, ok, err := r.assemble(&t, payload)
	if err == nil && ok {
		r.deliver(whole)
	}
	return err
}

// counted counts a transfer, and a delivery if the transfer begins one. It reports false if the
// receiver has never given credit: nobody is ready for messages yet.
func (r *Receiver) counted(begins bool) bool {
	c := r.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.opt.Held || !isClosed(r.ready) {
		return false
	}
	r.s.nextIncoming++
	if begins {
		r.count++
		r.credit -= min(r.credit, 1)
	}
	return true
}

// assemble returns the whole message if t is its last part. A message in one part is not
// copied.
func (r *Receiver) assemble(t *wire.Transfer, payload []byte) (whole []byte, ok bool, err error) {
	if t.Aborted {
		r.partial, r.parts = false, r.parts[:0]
		return nil, false, nil
	}
	if n, most := len(r.parts)+len(payload), r.s.c.opt.MaxMessage; n > most {
		return nil, false, fmt.Errorf("a message of link %q has more than %d bytes; let the connection take more, or send smaller ones", r.name, most)
	}
	if !r.partial && !t.More {
		return payload, true, nil
	}
	r.parts = append(r.parts, payload...)
	r.partial = t.More
	if t.More {
		return nil, false, nil
	}
	whole, r.parts = r.parts, r.parts[:0]
	return whole, true, nil
}

// deliver calls the callback with a message.
func (r *Receiver) deliver(payload []byte) {
	d := &r.delivery
	if r.claim() {
		d.message = message{b: payload, joined: d.joined[:0]}
		r.opt.OnDelivery(d)
	}
}

// claim notes that credit may be due at the end of the burst. It reports whether the receiver
// is still open.
func (r *Receiver) claim() bool {
	c := r.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.over() != nil {
		return false
	}
	if !r.pending {
		r.pending = true
		c.pending = append(c.pending, r)
	}
	return true
}

// Delivery is a message that arrived. Its parts are decoded on demand, and point into a
// buffer that the next message overwrites.
type Delivery struct {
	message
	r       *Receiver
	id      uint32
	settled bool
}

// Receiver is the receiver of the message.
func (d *Delivery) Receiver() *Receiver { return d.r }

// ID is the number of the delivery in its session, for Receiver.Accept.
func (d *Delivery) ID() uint32 { return d.id }

// Settled reports whether the broker has settled the delivery, which then needs no Accept.
func (d *Delivery) Settled() bool { return d.settled }

package amqp

import (
	"context"
	"fmt"
)

// Ack is who tells the broker that a message was accepted, and how.
type Ack byte

// The values of Ack.
const (
	AckBatch  Ack = iota // the connection, for a range of messages when a burst is over
	AckEach              // the connection, for each message on its own, when the burst is over
	AckManual            // the caller: Receiver.Accept
)

// DefaultCredit is what a receiver has when it does not say: that of qpid-jms.
const DefaultCredit = 1000

// ReceiverOptions is what a Receiver is asked for.
type ReceiverOptions struct {
	Name         string   // of the link, and of a durable subscription; "": one that is unique in the connection
	Address      string   // queue or topic
	Capabilities []string // of the source: "queue" or "topic", "shared", "global"
	Durable      uint32   // what outlives the link: 0 nothing, 1 its configuration, 2 what was not settled too
	Expiry       string   // when the source goes: "link-detach", "session-end", "never"; "": the broker's default
	Distribution string   // "copy" or "move"; "": the broker's default
	Selector     string   // which messages, as JMS writes it; "": all
	Settled      bool     // the broker settles what it sends; nothing is accepted then
	Credit       uint32   // messages that may be underway; 0: DefaultCredit. Topped up at half
	Ack          Ack
	Held         bool // nothing comes before Receiver.Release

	// OnDelivery gets each message. d is good during the call only.
	OnDelivery func(d *Delivery)
	// OnDetach is told when the link ends otherwise than by Detach or Close here.
	OnDetach func(err error)
}

// Receiver receives messages from one address.
type Receiver struct {
	link
	opt ReceiverOptions

	// Under Conn.mu.
	credit, count uint32

	// The reader's own.
	pending  bool     // is in Conn.pending
	partial  bool     // a delivery is half here
	parts    []byte   // what came of it
	delivery Delivery // the current one
}

// Receiver attaches a receiver and waits until the broker has answered. Messages
// may come before it returns. A refusal wraps an *Error.
func (s *Session) Receiver(ctx context.Context, o ReceiverOptions) (*Receiver, error) {
	r, err := s.receiver(ctx, o, &terminus{
		address: o.Address, durable: o.Durable, expiry: o.Expiry,
		distribution: o.Distribution, selector: o.Selector, capabilities: o.Capabilities,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot receive from %s: %w", o.Address, err)
	}
	return r, nil
}

func (s *Session) receiver(ctx context.Context, o ReceiverOptions, source *terminus) (*Receiver, error) {
	if o.Credit == 0 {
		o.Credit = DefaultCredit
	}
	r := &Receiver{link: newLink(s, o.Name), opt: o}
	r.link.receiver, r.onDetach, r.delivery.r = r, o.OnDetach, r
	a := attach{source: source, target: &terminus{}}
	if o.Settled {
		a.settle = 1
	}
	return r, r.attach(ctx, a)
}

// Unsubscribe deletes a durable subscription of this container, by the name of
// its link. It must have no receiver. One that is not there is an *Error.
func (s *Session) Unsubscribe(ctx context.Context, name string) error {
	r, err := s.receiver(ctx, ReceiverOptions{Name: name}, nil) // without a source: the one that is there
	if err != nil {
		return fmt.Errorf("cannot unsubscribe %s: %w", name, err)
	}
	return r.Detach(ctx, true)
}

// begin takes the broker's answer: messages may come; under mu.
func (r *Receiver) begin(a *attach) {
	r.count = a.first
	if r.over() == nil && r.opt.OnDelivery != nil && !r.opt.Held {
		r.open()
	}
}

// open gives the first credit; under mu.
func (r *Receiver) open() {
	r.credit = r.opt.Credit
	r.flow()
	r.s.c.poke()
}

// Release lets messages come to a receiver that is Held. It is called once.
func (r *Receiver) Release() {
	r.s.c.mu.Lock()
	defer r.s.c.mu.Unlock()
	if r.over() == nil {
		r.opt.Held = false
		r.open()
	}
}

// Accept accepts the deliveries first to last, which may be one and the same, as
// part of a transaction unless tx is nil. Needed with AckManual only. It buffers:
// see Conn.Flush. Deliveries of other receivers of the session in this range are
// accepted too.
func (r *Receiver) Accept(first, last uint32, tx *Transaction) error {
	c := r.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := r.over(); err != nil {
		return err
	}
	st := state{is: isAccepted}
	if tx != nil {
		st.txn = tx.id
	}
	r.s.settle(true, first, last, st)
	if len(c.out.waits) >= flushAt {
		c.poke()
	}
	return nil
}

// span is a range of deliveries.
type span struct {
	set         bool
	first, last uint32
}

// accept notes that a delivery is accepted, of those before it in a row with
// them; under mu.
func (s *Session) accept(id uint32) {
	if s.accepted.set && id == s.accepted.last+1 {
		s.accepted.last = id
		return
	}
	s.tellAccepted()
	s.accepted = span{true, id, id}
}

func (s *Session) tellAccepted() {
	if s.accepted.set {
		s.settle(true, s.accepted.first, s.accepted.last, state{is: isAccepted})
		s.accepted.set = false
	}
}

// reply says what there is to say after a burst; under mu.
func (r *Receiver) reply() {
	r.pending = false
	r.s.tellAccepted()
	if r.credit <= r.opt.Credit/2 && !r.opt.Held && r.over() == nil {
		r.credit = r.opt.Credit
		r.flow()
	}
}

package amqp

import (
	"context"
	"fmt"

	"github.com/taktload/takt/internal/amqp/wire"
)

// defaultCredit is the default credit of a receiver, equal to that of qpid-jms.
const defaultCredit = 1000

// ReceiverOptions are the options of a Receiver.
type ReceiverOptions struct {
	Name         string   // name of the link and of a durable subscription; "": unique in the connection
	Address      string   // queue or topic
	Capabilities []string // capabilities of the source: "queue" or "topic", "shared", "global"
	Durable      uint32   // state that outlives the link: 0 nothing, 1 configuration, 2 also unsettled messages
	Expiry       string   // end of the source: "link-detach", "session-end", "never"; "": the broker's default
	Distribution string   // "copy" or "move"; "": the broker's default
	Selector     string   // JMS selector; "": all messages
	Credit       uint32   // largest number of messages in flight; 0: defaultCredit. Renewed at half
	Held         bool     // no message comes before Receiver.Release

	// OnDelivery receives each message. d is valid only during the call.
	OnDelivery func(d *Delivery)
	// OnDetach is called when the link ends, except by Detach or Close here.
	OnDetach func(err error)
}

// Receiver receives messages from one address.
type Receiver struct {
	link
	opt ReceiverOptions

	// Guarded by Conn.mu.
	credit, count uint32
	address       string // of the node, as the broker says

	// Only the reader uses the following fields.
	pending  bool     // the receiver is in Conn.pending
	partial  bool     // part of a delivery has arrived
	parts    []byte   // arrived parts of that delivery
	delivery Delivery // current delivery
}

// Receiver attaches a receiver and waits until the broker has answered. Messages
// may come before it returns. A refusal wraps an *Error.
func (s *Session) Receiver(ctx context.Context, o ReceiverOptions) (*Receiver, error) {
	r, err := s.receiver(ctx, o, &wire.Terminus{
		Address: o.Address, Durable: o.Durable, Expiry: o.Expiry,
		Distribution: o.Distribution, Selector: o.Selector, Capabilities: o.Capabilities,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot receive from %s: %w", o.Address, err)
	}
	return r, nil
}

func (s *Session) receiver(ctx context.Context, o ReceiverOptions, source *wire.Terminus) (*Receiver, error) {
	if o.Credit == 0 {
		o.Credit = defaultCredit
	}
	r := &Receiver{link: newLink(s, o.Name), opt: o}
	r.link.receiver, r.onDetach, r.delivery.r = r, o.OnDetach, r
	a := wire.Attach{Source: source, Target: &wire.Terminus{}}
	return r, r.attach(ctx, a)
}

// Unsubscribe deletes a durable subscription of this container by its link's name. It must
// have no receiver. An unknown subscription is an *Error.
func (s *Session) Unsubscribe(ctx context.Context, name string) error {
	r, err := s.receiver(ctx, ReceiverOptions{Name: name}, nil) // without a source: the existing one
	if err != nil {
		return fmt.Errorf("cannot unsubscribe %s: %w", name, err)
	}
	return r.Detach(ctx, true)
}

// begin handles the broker's answer: messages may come; under mu.
func (r *Receiver) begin(a *wire.Attach) {
	r.count, r.address = a.First, a.Source.Address
	if r.over() == nil && r.opt.OnDelivery != nil && !r.opt.Held {
		r.open()
	}
}

// open grants the first credit; under mu.
func (r *Receiver) open() {
	r.credit = r.opt.Credit
	r.flow()
	r.s.c.poke()
}

// Release grants credit to a receiver that is Held.
func (r *Receiver) Release() {
	r.s.c.mu.Lock()
	defer r.s.c.mu.Unlock()
	if r.over() == nil && r.opt.Held {
		r.opt.Held = false
		r.open()
	}
}

// Accept accepts the deliveries first to last, as part of tx unless tx is nil. It
// buffers: see Conn.Flush. It also accepts deliveries of the session's other receivers in this
// range.
func (r *Receiver) Accept(first, last uint32, tx *Transaction) error {
	c := r.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := r.over(); err != nil {
		return err
	}
	st := wire.State{Is: wire.IsAccepted}
	if tx != nil {
		st.Txn = tx.id
	}
	r.s.settle(true, first, last, st)
	if len(c.out.waits) >= flushAt {
		c.poke()
	}
	return nil
}

// reply sends credit after a burst; under mu.
func (r *Receiver) reply() {
	r.pending = false
	if r.credit <= r.opt.Credit/2 && !r.opt.Held && r.over() == nil {
		r.credit = r.opt.Credit
		r.flow()
	}
}

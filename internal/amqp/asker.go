package amqp

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Asker sends requests to an address, one at a time, and receives the answers from a temporary
// queue. The queue ends with the session.
type Asker struct {
	address string
	reply   string // address of the temporary queue
	snd     *Sender
	credit  chan struct{} // signals credit; capacity one
	faults  chan error    // why no answer will come; capacity one
	answers chan answer   // capacity one
}

// answer is what a request was answered.
type answer struct {
	ok   bool
	body []byte
}

// Asker attaches to an address and makes the temporary queue. OK names the application property
// of an answer that says whether the request succeeded.
func (s *Session) Asker(ctx context.Context, address, ok string) (*Asker, error) {
	a := &Asker{address: address, credit: make(chan struct{}, 1), faults: make(chan error, 1), answers: make(chan answer, 1)}
	rcv, err := s.receiver(ctx, ReceiverOptions{Credit: 10, OnDelivery: func(d *Delivery) { a.answered(d, ok) }, OnDetach: a.failed},
		&wire.Terminus{Dynamic: true})
	if err != nil {
		return nil, fmt.Errorf("cannot make a temporary queue: %w", err)
	}
	a.reply = rcv.Address()
	a.snd, err = s.Sender(ctx, SenderOptions{
		Address: address, OnDetach: a.failed, OnCredit: func(uint32) { offer(a.credit, struct{}{}) },
		OnSettled: func(_ uint64, o Outcome) { a.failed(o.Err) },
	})
	return a, err
}

// Address is the address that the broker gave the receiver's node.
func (r *Receiver) Address() string {
	r.s.c.mu.Lock()
	defer r.s.c.mu.Unlock()
	return r.address
}

// answered is the callback of an answer.
func (a *Asker) answered(d *Delivery, ok string) {
	good, _ := d.Application(ok).Bool()
	offer(a.answers, answer{good, bytes.Clone(d.Body())})
	if !d.Settled() {
		if err := d.Receiver().Accept(d.ID(), d.ID(), nil); err != nil {
			a.failed(err)
		}
	}
}

// failed notes why no answer will come.
func (a *Asker) failed(err error) {
	if err != nil {
		offer(a.faults, err)
	}
}

func offer[T any](to chan T, v T) {
	select {
	case to <- v:
	default: // the first one counts
	}
}

// Ask sends a request, and returns the body of the answer.
func (a *Asker) Ask(ctx context.Context, properties []Field, body string) ([]byte, error) {
	t, err := NewTemplate(Message{To: a.address, ReplyTo: a.reply, Priority: defaultPriority, Application: properties, Text: true})
	if err != nil {
		return nil, err
	}
	for {
		err := a.snd.Send(t, []byte(body), 0)
		if err == nil {
			a.snd.s.c.Flush()
			break
		}
		if !errors.Is(err, ErrNoCredit) && !errors.Is(err, ErrBusy) {
			return nil, err
		}
		if err := a.wait(ctx, a.credit); err != nil {
			return nil, err
		}
	}
	select {
	case got := <-a.answers:
		if !got.ok {
			return nil, fmt.Errorf("the broker refuses the request: %.200s", got.body)
		}
		return got.body, nil
	case err := <-a.faults:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (a *Asker) wait(ctx context.Context, signal <-chan struct{}) error {
	select {
	case <-signal:
		return nil
	case err := <-a.faults:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

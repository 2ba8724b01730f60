package jms

import (
	"context"
	"fmt"

	"github.com/taktload/takt/internal/amqp"
)

// transactions are one producer's transactions, one at a time. A message ends when its
// transaction is committed. The producer's lock guards them.
type transactions struct {
	p        *producer
	on       *conn
	snd      *amqp.Sender
	co       *amqp.Coordinator
	size     int
	current  *amqp.Transaction // nil: one transaction ends and the next begins
	sent     int               // number of messages in current
	answered []flight          // messages with an outcome
	fault    error             // error of the first message that was not accepted
	flushing bool              // no further message comes
}

// transact begins the first transaction on a connection.
func (p *producer) transact(ctx context.Context, on *conn, s *amqp.Session, snd *amqp.Sender) (*transactions, error) {
	co, err := coordinator(ctx, s, "--commit-interval")
	if err != nil {
		return nil, err
	}
	t := &transactions{p: p, on: on, snd: snd, co: co, size: p.run.o.CommitInterval, flushing: p.run.flushing.Load()}
	if t.current, err = co.Declare(ctx); err == nil {
		snd.Join(t.current)
	}
	return t, err
}

func (t *transactions) takes() bool { return t.current != nil && t.sent < t.size }

// settled handles the outcome of a message.
func (t *transactions) settled(f *flight, err error) {
	t.answered = append(t.answered, *f)
	if t.fault == nil {
		t.fault = err
	}
	t.step()
}

// step ends the transaction when it is full, or no further message comes, and every message
// has an outcome. It requests the next transaction at the same time.
func (t *transactions) step() {
	if t.current == nil || t.on.Err() != nil || t.sent == 0 || len(t.answered) < t.sent || t.sent < t.size && !t.flushing {
		return
	}
	tx, list, fault := t.current, t.answered, t.fault
	t.current, t.answered, t.fault, t.sent = nil, nil, nil, 0
	var outcome error
	class := classTransaction
	err := t.co.StartDischarge(tx, fault == nil, func(o amqp.Outcome) {
		if o.State == amqp.Lost {
			class = classInDoubt
		}
		if outcome = o.Err; fault != nil {
			class = classTransaction
			outcome = fmt.Errorf("rolled back, since a message of it failed: %w", fault)
		}
	})
	asked := err == nil
	if asked {
		// Answers come in order, so the outcome is set before.
		err = t.co.StartDeclare(func(next *amqp.Transaction, err error) { t.ended(list, outcome, class, next, err) })
	}
	if err != nil {
		for i := range list {
			list[i].doubted = asked && fault == nil // the broker may commit
		}
		t.on.lostLink(fmt.Errorf("a transaction cannot be ended: %w", err))
		t.answered = append(t.answered, list...) // detached ends these operations
		return
	}
	t.on.Flush()
}

// ended handles the end of a transaction and the start of the next; in the reader's
// goroutine.
func (t *transactions) ended(list []flight, outcome error, class string, next *amqp.Transaction, err error) {
	if err == nil {
		t.p.mu.Lock()
		t.current = next
		t.snd.Join(next)
		t.p.mu.Unlock()
	} else {
		t.on.lost(err)
		t.on.lostLink(err)
	}
	for i := range list {
		t.p.end(t.on, &list[i], outcome, class)
	}
	t.p.run.wake()
}

// abandon returns the messages whose transaction will never end.
func (t *transactions) abandon() []flight {
	rest := t.answered
	t.answered, t.current = nil, nil
	return rest
}

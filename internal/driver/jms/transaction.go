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
	co       *amqp.Coordinator
	size     int
	current  *amqp.Transaction // nil: one transaction ends and the next begins
	sent     int               // number of messages in current
	answered []uint64          // operations with an outcome
	fault    error             // error of the first message that was not accepted
	flushing bool              // no further message comes
}

// transact begins the producer's first transaction.
func (p *producer) transact(ctx context.Context, s *amqp.Session) error {
	co, err := coordinator(ctx, s, "--commit-interval")
	if err != nil {
		return err
	}
	p.tx = &transactions{p: p, co: co, size: p.run.o.CommitInterval}
	if p.tx.current, err = co.Declare(ctx); err == nil {
		p.snd.Join(p.tx.current)
	}
	return err
}

func (t *transactions) takes() bool { return t.current != nil && t.sent < t.size }

// settled handles the outcome of a message.
func (t *transactions) settled(token uint64, err error) {
	t.answered = append(t.answered, token)
	if t.fault == nil {
		t.fault = err
	}
	t.step()
}

// step ends the transaction when it is full, or no further message comes, and every message
// has an outcome. It requests the next transaction at the same time.
func (t *transactions) step() {
	if t.current == nil || t.sent == 0 || len(t.answered) < t.sent || t.sent < t.size && !t.flushing {
		return
	}
	tx, tokens, fault := t.current, t.answered, t.fault
	t.current, t.answered, t.fault, t.sent = nil, nil, nil, 0
	var outcome error
	err := t.co.StartDischarge(tx, fault == nil, func(o amqp.Outcome) {
		if outcome = o.Err; fault != nil {
			outcome = fmt.Errorf("rolled back, since a message of it failed: %w", fault)
		}
	})
	if err == nil {
		// Answers come in order, so the outcome is set before.
		err = t.co.StartDeclare(func(next *amqp.Transaction, err error) { t.ended(tokens, outcome, next, err) })
	}
	if err != nil {
		t.p.run.fail(fmt.Errorf("a transaction cannot be ended: %w", err))
		t.answered = append(t.answered, tokens...) // detached ends these operations
		return
	}
	t.p.conn.Flush()
}

// ended handles the end of a transaction and the start of the next; in the reader's
// goroutine.
func (t *transactions) ended(tokens []uint64, outcome error, next *amqp.Transaction, err error) {
	if err == nil {
		t.p.mu.Lock()
		t.current = next
		t.p.snd.Join(next)
		t.p.mu.Unlock()
	} else {
		t.p.run.fail(err)
	}
	for _, token := range tokens {
		t.p.end(token, outcome, classTransaction)
	}
	t.p.run.wake()
}

// abandon returns the operations that will never end.
func (t *transactions) abandon() []uint64 {
	rest := t.answered
	t.answered, t.current = nil, nil
	return rest
}

package jms

import (
	"context"
	"fmt"

	"github.com/taktload/takt/internal/amqp"
)

// transactions are those of one producer, one at a time: a message ends when its
// transaction is committed. The producer's lock guards it.
type transactions struct {
	p        *producer
	co       *amqp.Coordinator
	size     int
	current  *amqp.Transaction // nil: one is being ended and begun
	sent     int               // messages in it
	answered []uint64          // operations of those that have an outcome
	fault    error             // of the first that was not accepted
	flushing bool              // nothing more comes
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

// settled takes the outcome of a message.
func (t *transactions) settled(token uint64, err error) {
	t.answered = append(t.answered, token)
	if t.fault == nil {
		t.fault = err
	}
	t.step()
}

// step ends the transaction when it is full, or nothing more comes, and all of it has
// an outcome. The next one is asked for along with it.
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
		// Answers come in order, so the outcome is there by then.
		err = t.co.StartDeclare(func(next *amqp.Transaction, err error) { t.ended(tokens, outcome, next, err) })
	}
	if err != nil {
		t.p.run.fail(fmt.Errorf("a transaction cannot be ended: %w", err))
		t.answered = append(t.answered, tokens...) // for detached
		return
	}
	t.p.conn.Flush()
}

// ended takes the end of a transaction and the next one; in the reader's goroutine.
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

// abandon gives the operations that nobody will end any more.
func (t *transactions) abandon() []uint64 {
	rest := t.answered
	t.answered, t.current = nil, nil
	return rest
}

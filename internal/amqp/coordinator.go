package amqp

import (
	"context"
	"errors"
	"fmt"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Coordinator begins and ends local transactions (part 4). Messages sent and accepted in a
// session may belong to any transaction of the session's coordinators.
type Coordinator struct {
	snd *Sender

	// Guarded by Conn.mu.
	next    uint64
	waiting map[uint64]func(Outcome)
	held    []heldMessage // messages that wait for credit, in order
	sending bool          // a goroutine sends the first of held
	missed  bool          // the broker granted credit meanwhile: the sending goroutine must try again
}

// heldMessage is a declare or discharge that waits for credit.
type heldMessage struct {
	body  []byte
	token uint64
}

// Transaction is a declared transaction.
type Transaction struct{ id []byte }

// Coordinator attaches to the broker's coordinator and waits for its answer and credit.
func (s *Session) Coordinator(ctx context.Context) (*Coordinator, error) {
	c := &Coordinator{waiting: map[uint64]func(Outcome){}}
	ready := make(chan struct{})
	opt := SenderOptions{
		Address:   "the transaction coordinator",
		OnSettled: c.settled,
		OnCredit: func(credit uint32) {
			if credit > 0 && !isClosed(ready) {
				close(ready)
			}
			c.resumed(s)
		},
		OnDetach: func(error) { c.resumed(s) },
	}
	snd, err := s.sender(ctx, opt, &wire.Terminus{Coordinator: true, Capabilities: []string{"amqp:local-transactions"}})
	if err != nil {
		return nil, err
	}
	snd.urgent = true
	c.snd = snd
	select {
	case <-ready:
		return c, nil
	case <-snd.gone:
		return nil, snd.Err()
	case <-ctx.Done():
		snd.leave(true)
		return nil, context.Cause(ctx)
	}
}

func (c *Coordinator) settled(token uint64, o Outcome) {
	mu := &c.snd.s.c.mu
	mu.Lock()
	done := c.waiting[token]
	delete(c.waiting, token)
	mu.Unlock()
	done(o)
}

// StartDeclare requests a transaction without waiting. If it returns nil, done is called once
// in the reading goroutine. It buffers: see Conn.Flush.
func (c *Coordinator) StartDeclare(done func(*Transaction, error)) error {
	l := wire.OpenList(wire.AppendDescriptor(nil, wire.IsValue), wire.IsDeclare)
	return c.start(l.Close(), func(o Outcome) {
		tx, err := declared(o)
		done(tx, err)
	})
}

// mostTxn is the largest id of a transaction: each transfer contains the id.
const mostTxn = 255

func declared(o Outcome) (*Transaction, error) {
	switch n := len(o.txn); {
	case o.Err != nil:
		return nil, fmt.Errorf("cannot begin a transaction: %w", o.Err)
	case n == 0 || n > mostTxn:
		return nil, fmt.Errorf("cannot begin a transaction: the broker names it by %d bytes, and 1 to %d were expected", n, mostTxn)
	}
	return &Transaction{id: append([]byte(nil), o.txn...)}, nil
}

// StartDischarge ends a transaction without waiting: commit makes its messages and
// acceptances valid, otherwise they are undone. If it returns nil, done is called once in the
// reading goroutine: Accepted is success, with Lost the result is unknown. It buffers: see
// Conn.Flush.
func (c *Coordinator) StartDischarge(tx *Transaction, commit bool, done func(Outcome)) error {
	l := wire.OpenList(wire.AppendDescriptor(nil, wire.IsValue), wire.IsDischarge)
	l.Binary(tx.id)
	l.B = wire.AppendBool(l.Next(), !commit)
	return c.start(l.Close(), func(o Outcome) {
		if o.Err != nil {
			o.Err = fmt.Errorf("cannot end the transaction: %w", o.Err)
		}
		done(o)
	})
}

func (c *Coordinator) start(message []byte, done func(Outcome)) error {
	mu := &c.snd.s.c.mu
	mu.Lock()
	c.next++
	token := c.next
	c.waiting[token] = done
	c.held = append(c.held, heldMessage{message, token})
	mu.Unlock()
	return c.resume(token)
}

// resume sends held messages while there is credit; resumed continues when more comes. It
// returns only the error of token; the callbacks of other messages get Lost.
func (c *Coordinator) resume(token uint64) (failed error) {
	mu := &c.snd.s.c.mu
	mu.Lock()
	defer mu.Unlock()
	c.missed = c.sending
	for len(c.held) > 0 && !c.sending {
		h := c.held[0]
		c.sending, c.missed = true, false // no other goroutine may overtake it
		mu.Unlock()
		err := c.snd.send(h.body, nil, h.token)
		mu.Lock()
		c.sending = false
		if errors.Is(err, ErrNoCredit) || errors.Is(err, ErrBusy) {
			if c.missed {
				continue
			}
			break
		}
		c.held = c.held[1:]
		switch done := c.waiting[h.token]; {
		case err == nil:
		case h.token == token:
			delete(c.waiting, token)
			failed = err
		default:
			delete(c.waiting, h.token)
			mu.Unlock()
			done(Outcome{State: Lost, Err: err})
			mu.Lock()
		}
	}
	return failed
}

// resumed continues when the broker granted credit.
func (c *Coordinator) resumed(s *Session) {
	s.c.mu.Lock()
	held := len(c.held) > 0
	s.c.mu.Unlock()
	if held {
		_ = c.resume(0) // no token is 0: all errors go to callbacks
	}
}

// Declare begins a transaction and waits for the broker.
func (c *Coordinator) Declare(ctx context.Context) (*Transaction, error) {
	var tx *Transaction // written before result is sent, read after
	result := make(chan error, 1)
	err := c.StartDeclare(func(t *Transaction, err error) {
		tx = t
		result <- err
	})
	if err = c.wait(ctx, err, result); err != nil {
		return nil, err
	}
	return tx, nil
}

// Discharge ends a transaction and waits for the broker: see StartDischarge.
func (c *Coordinator) Discharge(ctx context.Context, tx *Transaction, commit bool) error {
	result := make(chan error, 1)
	err := c.StartDischarge(tx, commit, func(o Outcome) { result <- o.Err })
	return c.wait(ctx, err, result)
}

// wait waits for the result, unless starting failed with err.
func (c *Coordinator) wait(ctx context.Context, err error, result <-chan error) error {
	if err != nil {
		return err
	}
	c.snd.s.c.Flush()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Detach ends the link; the broker rolls back open transactions.
func (c *Coordinator) Detach(ctx context.Context) error { return c.snd.Detach(ctx, true) }

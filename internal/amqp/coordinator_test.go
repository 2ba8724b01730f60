package amqp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/amqptest"
)

func coordinator(t *testing.T, s *Session) *Coordinator {
	t.Helper()
	c, err := s.Coordinator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func declare(t *testing.T, c *Coordinator) *Transaction {
	t.Helper()
	tx, err := c.Declare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// The end of a transaction goes also when the buffer is full: nobody else asks for it
// again once that is empty.
func TestDischargeBehindFullBuffer(t *testing.T) {
	_, c := connected(t, amqptest.Script{}, Options{Buffer: 1200})
	s := session(t, c)
	co := coordinator(t, s)
	tx := declare(t, co)
	snd := sender(t, s, SenderOptions{Address: "q"})
	waitCredit(t, snd)
	tpl := template(t)
	for err := error(nil); !errors.Is(err, ErrBusy); {
		if err = snd.Send(tpl, make([]byte, 900), 1); err != nil && !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
	}
	done := make(chan Outcome, 1)
	if err := co.StartDischarge(tx, true, func(o Outcome) { done <- o }); err != nil {
		t.Fatal(err)
	}
	c.Flush()
	select {
	case o := <-done:
		if o.Err != nil {
			t.Error(o.Err)
		}
	case <-time.After(time.Minute):
		t.Error("the transaction did not end")
	}
}

func TestTransactedSends(t *testing.T) {
	for _, commit := range []bool{true, false} {
		t.Run(fmt.Sprintf("commit %v", commit), func(t *testing.T) {
			b, c := connected(t, amqptest.Script{}, Options{})
			s := session(t, c)
			co := coordinator(t, s)
			done := make(chan Outcome, 3)
			snd := sender(t, s, SenderOptions{Address: "q", OnSettled: func(_ uint64, o Outcome) { done <- o }})
			tx := declare(t, co)
			snd.Join(tx)
			send(t, snd, "one")
			send(t, snd, strings.Repeat("2", 200_000))
			snd.Join(nil)
			send(t, snd, "free")
			for range 3 {
				if o := <-done; o.Err != nil {
					t.Fatal(o.Err)
				}
			}
			if n := b.Depth("q"); n != 1 || b.Saw("transacted") != 2 {
				t.Errorf("%d messages before the end of the transaction; the broker saw %q", n, b.Seen())
			}
			if err := co.Discharge(t.Context(), tx, commit); err != nil {
				t.Fatal(err)
			}
			if n, want := b.Depth("q"), map[bool]int{true: 3, false: 1}[commit]; n != want {
				t.Errorf("%d messages, want %d", n, want)
			}
			var e *Error
			if err := co.Discharge(t.Context(), tx, true); !errors.As(err, &e) || e.Condition != "amqp:transaction:unknown-id" {
				t.Errorf("a second end of the transaction: %v", err)
			}
			if err := co.Detach(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := co.Declare(t.Context()); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
}

func TestTransactedAccepts(t *testing.T) {
	for _, commit := range []bool{true, false} {
		b, c := connected(t, amqptest.Script{}, Options{})
		b.Push("q", encoded(t, "", 1), encoded(t, "", 2), encoded(t, "", 3))
		s := session(t, c)
		co := coordinator(t, s)
		r, arrived := receive(t, s, ReceiverOptions{})
		first, last := (<-arrived).id, (<-arrived).id
		tx := declare(t, co)
		if err := r.Accept(first, last, tx); err != nil {
			t.Fatal(err)
		}
		if err := co.Discharge(t.Context(), tx, commit); err != nil {
			t.Fatal(err)
		}
		if err := r.Detach(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if n, want := b.Depth("q"), map[bool]int{true: 1, false: 3}[commit]; n != want {
			t.Errorf("commit %v: %d messages left, want %d", commit, n, want)
		}
	}
}

// The end of one transaction, the next one's begin and its messages go without
// waiting for one another.
func TestPipelinedTransactions(t *testing.T) {
	const rounds, size = 50, 10
	b, c := connected(t, amqptest.Script{Credit: 1000}, Options{})
	s := session(t, c)
	co := coordinator(t, s)
	snd := sender(t, s, SenderOptions{Address: "q"})
	next, ended := make(chan *Transaction, 1), make(chan Outcome, rounds)
	begin := func() {
		if err := co.StartDeclare(func(tx *Transaction, err error) {
			if err != nil {
				t.Error(err)
			}
			next <- tx
		}); err != nil {
			t.Error(err)
		}
	}
	begin()
	c.Flush()
	for range rounds {
		tx := <-next
		snd.Join(tx)
		for range size {
			send(t, snd, "x")
		}
		if err := co.StartDischarge(tx, true, func(o Outcome) { ended <- o }); err != nil {
			t.Fatal(err)
		}
		begin()
		c.Flush()
	}
	for range rounds {
		if o := <-ended; o.State != Accepted || o.Err != nil {
			t.Fatal(o)
		}
	}
	if n := b.Depth("q"); n != rounds*size {
		t.Errorf("%d messages of %d", n, rounds*size)
	}
}

// Who waits for a transaction hears of the connection's end, and that nobody
// knows what became of it.
func TestTransactionLost(t *testing.T) {
	reason := &Error{Condition: "amqp:connection:forced", Description: "enough"}
	_, c := connected(t, amqptest.Script{AtTransfer: func(c *amqptest.Conn, n int) {
		if n == 2 {
			c.Close(reason)
		}
	}}, Options{})
	co := coordinator(t, session(t, c))
	tx := declare(t, co)
	ended := make(chan Outcome, 1)
	if err := co.StartDischarge(tx, true, func(o Outcome) { ended <- o }); err != nil {
		t.Fatal(err)
	}
	c.Flush()
	if o := <-ended; o.State != Lost || !isReason(o.Err, reason) {
		t.Error(o)
	}
}

package users

import (
	"strconv"
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// slow is a connection that closes only when it is told to.
type slow struct {
	line
	closing, closed chan struct{}
}

func (s slow) Hangup() { s.closing <- struct{}{}; <-s.closed }

// A user that comes while the only seat is on its way back gets the seat, though no other operation ends.
func TestSeatOnItsWayBack(t *testing.T) {
	conn := slow{closing: make(chan struct{}), closed: make(chan struct{})}
	c := New(Options{
		Seats: 1, Connect: func(int) engine.Connection { return conn },
		Key:    func(op *takt.Op) []byte { return strconv.AppendUint(nil, op.Seq, 10) },
		Leaves: func(*takt.Op) bool { return true },
	})
	sink := new(counter)
	client := c.Client(sink)
	sink.ended.Add(2)
	start := func(seq uint64) {
		if err := client.Start(&takt.Op{Seq: seq}); err != nil {
			t.Fatal(err)
		}
	}
	start(0)
	<-conn.closing // user 0 has left
	start(1)
	conn.closed <- struct{}{}
	for range 2 { // before user 1 begins, and when it leaves
		<-conn.closing
		conn.closed <- struct{}{}
	}
	sink.ended.Wait()
	if err := client.Close(); err != nil || c.Seen().Crowded != 1 {
		t.Errorf("%v, %+v", err, c.Seen())
	}
}

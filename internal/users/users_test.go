package users

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// counter counts the operations that ended.
type counter struct {
	takt.Sink
	ended sync.WaitGroup
}

func (c *counter) Began(uint64, takt.Turn)   {}
func (c *counter) Done(uint64, *takt.Result) { c.ended.Done() }

// line is a connection on which everything succeeds.
type line struct{}

func (line) Do(context.Context, *takt.Op, *takt.Result) {}
func (line) Hangup()                                    {}
func (line) Close() error                               { return nil }

// A user that leaves is forgotten with its memory, also when its connection goes to a user that
// waits for one.
func TestUsersThatLeaveAreForgotten(t *testing.T) {
	const n = 1000
	c := New(Options{
		Seats: 2, Connect: func(int) engine.Connection { return line{} },
		Key:    func(op *takt.Op) []byte { return strconv.AppendUint(nil, op.Seq, 10) },
		Memory: func() any { return new(int) },
		Leaves: func(*takt.Op) bool { return true },
	})
	sink := new(counter)
	client := c.Client(sink)
	sink.ended.Add(n)
	for i := range uint64(n) {
		if err := client.Start(&takt.Op{Seq: i}); err != nil {
			t.Fatal(err)
		}
	}
	sink.ended.Wait()
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if left := len(c.users); left > 0 || c.Seen().Users != n {
		t.Errorf("%d users are remembered, of %+v", left, c.Seen())
	}
}

// lateHangup is a connection that calls a function while it is closed.
type lateHangup struct {
	line
	meanwhile func()
}

func (c lateHangup) Hangup() { c.meanwhile() }

// A user that begins to wait for a seat while the connection of a leaving user is being closed gets this seat.
func TestSeatWhoseConnectionIsBeingClosed(t *testing.T) {
	var client *takt.AsyncClient
	next := sync.OnceValue(func() error { return client.Start(&takt.Op{Seq: 1}) })
	c := New(Options{
		Seats: 1, Connect: func(int) engine.Connection { return lateHangup{meanwhile: func() { _ = next() }} },
		Key:    func(op *takt.Op) []byte { return strconv.AppendUint(nil, op.Seq, 10) },
		Leaves: func(*takt.Op) bool { return true },
	})
	sink := new(counter)
	client = c.Client(sink)
	sink.ended.Add(2)
	if err := client.Start(&takt.Op{Seq: 0}); err != nil {
		t.Fatal(err)
	}
	sink.ended.Wait() // for ever, if nobody gives the second user the seat
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if seen := c.Seen(); seen.Users != 2 || seen.Crowded != 1 {
		t.Errorf("%+v", seen)
	}
}

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

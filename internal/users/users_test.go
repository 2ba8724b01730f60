package users

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

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

// farewell is a line whose first Hangup lasts until another user has come.
type farewell struct {
	line
	once   sync.Once
	hangup func()
}

func (f *farewell) Hangup() { f.once.Do(f.hangup) }

// A user that comes while the last connection is being closed gets it. It used to wait until another user left, which a run
// with one user at a time never sees.
func TestUserComesWhileASeatIsVacated(t *testing.T) {
	sink := new(counter)
	sink.ended.Add(2)
	conn := &farewell{}
	c := New(Options{
		Seats: 1, Connect: func(int) engine.Connection { return conn },
		Key:    func(op *takt.Op) []byte { return strconv.AppendUint(nil, op.Seq, 10) },
		Leaves: func(*takt.Op) bool { return true },
	})
	client := c.Client(sink)
	conn.hangup = func() { _ = client.Start(&takt.Op{Seq: 1}) }
	if err := client.Start(&takt.Op{Seq: 0}); err != nil {
		t.Fatal(err)
	}
	sink.ended.Wait()
	if err := client.Close(); err != nil || c.Seen().Crowded != 1 {
		t.Errorf("%v, %+v", err, c.Seen())
	}
}

// begins is a world that counts the goroutines that began in it.
type begins struct {
	engine.World
	n atomic.Int64
}

func (b *begins) Go(f func()) { b.n.Add(1); b.World.Go(f) }

// held is a line whose operations last until it is closed.
type held struct {
	line
	until chan struct{}
}

func (h held) Do(context.Context, *takt.Op, *takt.Result) { <-h.until }

// Operations one after the other share a goroutine, and of those side by side only some wait for more. None is left at the end.
func TestGoroutinesAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world, conn := &begins{World: engine.WorldOf(nil)}, held{until: make(chan struct{})}
		c := New(Options{
			World: world, Seats: 1000, Connect: func(int) engine.Connection { return conn },
			Key: func(op *takt.Op) []byte { return strconv.AppendUint(nil, op.Seq, 10) },
		})
		sink := new(counter)
		client := c.Client(sink)
		start := func(n uint64) {
			sink.ended.Add(1)
			if err := client.Start(&takt.Op{Seq: n}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range uint64(2 * mostHands) {
			start(i)
		}
		synctest.Wait()
		close(conn.until)
		synctest.Wait()
		if n := len(c.hands); n != mostHands || world.n.Load() != 2*mostHands {
			t.Errorf("%d of %d goroutines wait, want %d", n, world.n.Load(), mostHands)
		}
		for i := range uint64(100) {
			start(i)
			synctest.Wait()
		}
		if n := world.n.Load(); n != 2*mostHands {
			t.Errorf("%d more goroutines for one operation at a time", n-2*mostHands)
		}
		sink.ended.Wait()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
}

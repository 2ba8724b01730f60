package jms

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
)

// door is an address of a broker. A closed door ends connections at once, as a proxy before a dead
// broker does.
type door struct {
	addr string
	open atomic.Bool
}

func newDoor(t *testing.T, f *amqptest.Broker) *door {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{addr: ln.Addr().String()}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); f.Die(); all.Wait() })
	all.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			if !d.open.Load() {
				_ = nc.Close() // closed even with an error
				continue
			}
			all.Go(func() { f.Handle(nc) })
		}
	})
	return d
}

// A primary stops answering and dies with a full window of messages in doubt; its backup, with the same queue, serves later.
func TestPrimaryDies(t *testing.T) {
	for _, doubt := range []string{doubtFail, doubtRetry} {
		t.Run(doubt, func(t *testing.T) {
			const pending = 50
			var dead atomic.Bool
			var primary, backup *door
			var f *amqptest.Broker
			var once sync.Once
			var dying sync.WaitGroup
			kill := func() {
				dead.Store(true)
				primary.open.Store(false)
				f.Die()
				time.Sleep(300 * time.Millisecond)
				backup.open.Store(true)
			}
			f = amqptest.New(t, amqptest.Script{Credit: 500, Outcome: func(n int) (uint64, *wire.Error, bool) {
				if n < 300 || dead.Load() {
					return wire.IsAccepted, nil, true
				}
				if n == 300+pending-1 {
					once.Do(func() { dying.Go(kill) })
				}
				return wire.IsReceived, nil, false // no outcome
			}})
			primary, backup = newDoor(t, f), newDoor(t, f)
			primary.open.Store(true)
			o := NewClient()
			o.URL, o.MaxPending, o.Persistent, o.InDoubt = "failover:(amqp://"+primary.addr+",amqp://"+backup.addr+")", pending, true, doubt
			r := makeRun(t, o, func(e *engine.Options) {
				e.Rate, e.Duration, e.Drain = engine.MustRate("1000/s"), 1200*time.Millisecond, engine.DrainOf(20*time.Second)
			})
			dying.Wait()
			if sum(r.Counts) != 1200 || r.Counts.Unfinished > 0 || doubt == doubtFail && r.Counts.Failed != pending || r.Warned("broke_off") {
				t.Errorf("counts %+v, errors %v, warnings %v", r.Counts, r.Errors, r.Warnings)
			}
			extra(t, r, map[string]uint64{"lost": 0})
			checkOutage(t, r)
		})
	}
}

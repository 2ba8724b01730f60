package jms

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
	"github.com/taktload/takt/pkg/takt"
)

// dieOnce ends all connections of the broker at the n-th transfer of the first one. Later
// connections stay.
func dieOnce(n int) func(*amqptest.Conn, int) {
	var died atomic.Bool
	return func(c *amqptest.Conn, transfers int) {
		if transfers >= n && !died.Swap(true) {
			c.Die()
		}
	}
}

// stopAt stops the broker at the n-th transfer of a connection.
func stopAt(n int) func(*amqptest.Conn, int) {
	return func(c *amqptest.Conn, transfers int) {
		if transfers == n {
			c.Stop()
		}
	}
}

// when does something once the broker has seen a performative; the result ends the wait.
func when(f *amqptest.Broker, seen string, do func()) (stop func()) {
	over := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for f.Saw(seen) == 0 {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
			}
		}
		do()
	})
	return func() { close(over); waiting.Wait() }
}

// sum is the number of all operations. Each must have one fate.
func sum(c takt.Counts) uint64 { return c.OK + c.Failed + c.Dropped + c.Unfinished }

// A broker that goes away and comes back: the schedule goes on, and every message is accounted
// for.
func TestBrokerComesBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Options)
		failed  uint64 // at most
		retries bool
	}{
		{"one pending", func(*Options) {}, 0, true},
		{"many pending", func(o *Options) { o.MaxPending = 100 }, 0, true},
		{"several producers", func(o *Options) { o.Producers, o.MaxPending = 3, 10 }, 0, true},
		{"one connection", func(o *Options) { o.Producers, o.SharedConnections, o.MaxPending = 3, true, 10 }, 0, true},
		{"fail", func(o *Options) { o.MaxPending, o.InDoubt = 100, doubtFail }, 100, false},
		{"transactions", func(o *Options) { o.CommitInterval = 20 }, 40, false},
		{"receive in transactions", func(o *Options) { o.Tx, o.Ack = true, ackBatch }, 0, false},
		{"acknowledge together", func(o *Options) { o.Ack, o.MaxPending = ackBatch, 30 }, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := amqptest.New(t, amqptest.Script{AtTransfer: dieOnce(203)})
			o := served(t, f, NewClient())
			c.change(o)
			r := makeRun(t, o, func(e *engine.Options) {
				e.Rate, e.Duration, e.Drain = engine.MustRate("2000/s"), 800*time.Millisecond, engine.DrainOf(20*time.Second)
			})
			if r.Counts.Scheduled != 1600 || sum(r.Counts) != 1600 || r.Counts.Failed > c.failed || r.Counts.Unfinished > 0 || r.Warned("broke_off") {
				t.Errorf("counts %+v, errors %v, warnings %v", r.Counts, r.Errors, r.Warnings)
			}
			extra(t, r, map[string]uint64{"lost": 0, "foreign": 0})
			if n := f.Depth("TEST"); n != 0 {
				t.Errorf("%d messages are left", n)
			}
			checkOutage(t, r)
			if n := r.Outages[0].Retried; o.InDoubt == doubtFail && n > 0 || c.retries && n == 0 {
				t.Errorf("%d messages were sent again", n)
			}
		})
	}
}

// checkOutage wants one outage that is over.
func checkOutage(t *testing.T, r *takt.Report) {
	t.Helper()
	if len(r.Outages) != 1 {
		t.Fatalf("outages %+v", r.Outages)
	}
	o := r.Outages[0]
	if o.To == nil || *o.To < o.From || o.FirstSuccess == nil || *o.FirstSuccess > *o.To-o.From+1e-9 || o.Cause == "" || o.First == "" {
		t.Errorf("%+v", o)
	}
	if o.Lost == nil || *o.Lost > 0 || o.Doubled == nil || *o.Doubled != r.Extra["duplicate"] || o.Reordered == nil {
		t.Errorf("%+v: %d lost, %d doubled, duplicates %v", o, *o.Lost, *o.Doubled, r.Extra["duplicate"])
	}
	if o.Failed > r.Counts.Failed {
		t.Errorf("%d failed in the outage, %d in all", o.Failed, r.Counts.Failed)
	}
}

// Of two brokers the one that is there does the work, at the start and when the other one dies.
func TestPair(t *testing.T) {
	a, b := amqptest.New(t, amqptest.Script{AtTransfer: stopAt(300)}), amqptest.New(t, amqptest.Script{})
	addr := a.Serve()
	o := NewProducer()
	o.URL, o.MaxPending = "failover:(amqp://"+nobody(t)+",amqp://"+addr+",amqp://"+b.Serve()+")?ha=true", 10
	r := makeRun(t, o, func(e *engine.Options) { e.Rate, e.Duration = engine.MustRate("1000/s"), 700*time.Millisecond })
	all(t, r, 700)
	if n, m := a.Depth("TEST"), b.Depth("TEST"); n < 100 || m < 100 || n+m < 700 || n+m > 710 {
		t.Errorf("%d and %d messages", n, m)
	}
	if len(r.Outages) != 1 || r.Outages[0].To == nil || r.Outages[0].Lost != nil || r.Outages[0].First != "connection to "+addr {
		t.Errorf("outages %+v", r.Outages)
	}
}

// A broker that does not come back ends the run when --reconnect is over, also without
// --duration.
func TestBrokerStaysAway(t *testing.T) {
	for _, load := range []*Options{NewProducer(), NewClient(), NewConsumer()} {
		f := amqptest.New(t, amqptest.Script{AtTransfer: stopAt(50)})
		o := served(t, f, load)
		o.MaxPending, o.Reconnect = 10, 200*time.Millisecond
		if !o.sends {
			defer when(f, "flow", f.Stop)()
		}
		r := makeRun(t, o, func(e *engine.Options) {
			if o.sends {
				e.Rate = engine.MustRate("1000/s")
			}
			e.Duration, e.Drain = time.Minute, engine.DrainOf(30*time.Second)
		})
		if !r.Warned("broke_off") || sum(r.Counts) != r.Counts.Scheduled || r.DurationS > 20 {
			t.Errorf("counts %+v, warnings %v", r.Counts, r.Warnings)
		}
		if len(r.Outages) != 1 || r.Outages[0].To != nil || r.Outages[0].FirstSuccess != nil {
			t.Errorf("outages %+v", r.Outages)
		}
	}
}

// A consumer reads on where the broker comes back.
func TestConsumerComesBack(t *testing.T) {
	f := amqptest.New(t, amqptest.Script{})
	p := served(t, f, NewProducer())
	p.MessageCount, p.MaxPending = 1500, 100
	all(t, makeRun(t, p, nil), 1500)
	o := reach(NewConsumer(), p.Broker.broker.addr)
	defer when(f, "disposition", f.Die)()
	r := makeRun(t, o, func(e *engine.Options) { e.Duration = 3 * time.Second })
	if n := f.Depth("TEST"); n != 0 || r.Extra["lost"] != uint64(0) || r.Counts.OK < 1500 {
		t.Errorf("%d messages are left, counts %+v, extra %v", n, r.Counts, r.Extra)
	}
	if len(r.Outages) != 1 || r.Outages[0].To == nil || *r.Outages[0].Doubled != r.Counts.OK-1500 {
		t.Errorf("outages %+v", r.Outages)
	}
}

// A run that ends while there is no broker has not failed for that: its messages are unfinished.
func TestRunEndsInAnOutage(t *testing.T) {
	for range 5 { // the end comes in an attempt to connect, or between two
		o := served(t, amqptest.New(t, amqptest.Script{AtTransfer: stopAt(100)}), NewClient())
		o.MaxPending = 10
		r := makeRun(t, o, func(e *engine.Options) {
			e.Rate, e.Duration, e.Drain = engine.MustRate("1000/s"), 300*time.Millisecond, engine.DrainOf(50*time.Millisecond)
		})
		if r.Warned("broke_off") || r.Counts.Failed > 0 || r.Counts.Unfinished == 0 || sum(r.Counts) != 300 {
			t.Errorf("counts %+v, warnings %v", r.Counts, r.Warnings)
		}
		if len(r.Outages) != 1 || r.Outages[0].To != nil {
			t.Errorf("outages %+v", r.Outages)
		}
	}
}

// A lost connection comes back, or not: an address that is none is not tried for --reconnect, unless
// another broker of the list may answer.
func TestReconnectIsHopeless(t *testing.T) {
	bad, closed := broker{addr: "127.0.0.1:99999"}, broker{addr: "127.0.0.1:1"}
	bad.others = []broker{bad}
	mixed := bad
	mixed.others = []broker{closed}
	for _, c := range []struct {
		name      string
		list      broker
		reconnect time.Duration
		want      string
	}{
		{"all", bad, time.Minute, "invalid port"},
		{"one of two", mixed, 100 * time.Millisecond, "no broker answered for 100ms"},
	} {
		o := NewProducer()
		o.Reconnect = c.reconnect
		err := (&line{run: o.newRun(), broker: c.list}).restore(io.EOF)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "raise --reconnect") != (c.name != "all") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

package jms

import (
	"fmt"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

func TestDriver(t *testing.T) {
	drivertest.Run(t, "", func(t *testing.T, target drivertest.Target) *takt.Driver {
		var s amqptest.Script
		switch target {
		case drivertest.Failing:
			s.Outcome = func(int) (uint64, *wire.Error, bool) { return wire.IsRejected, nil, true }
		case drivertest.Hanging:
			s.Outcome = func(int) (uint64, *wire.Error, bool) { return wire.IsReceived, nil, false } // no outcome ever
		}
		o := served(t, amqptest.New(t, s), NewProducer())
		o.MaxPending = 100
		if target == drivertest.Down {
			reach(o, nobody(t))
		}
		return plan(t, o, func(e *engine.Options) { e.Requests = 1 }).Driver
	})
}

// Everything that is sent arrives once, in every way to send and to receive.
func TestClient(t *testing.T) {
	for i, change := range []func(*Options){
		func(*Options) {},
		func(o *Options) { o.MaxPending, o.Ack = 100, ackBatch },
		func(o *Options) { o.MaxPending = 0 },
		func(o *Options) { o.Producers, o.Consumers, o.MaxPending = 7, 3, 3 },
		func(o *Options) { o.Producers, o.Threads, o.SharedConnections, o.NumDestinations = 3, 2, true, 2 },
		func(o *Options) { o.MaxPending, o.CommitInterval = 5, 8 },
		func(o *Options) { o.Tx = true },
		func(o *Options) { o.Tx, o.Ack, o.MaxPending = true, ackBatch, 20 },
		func(o *Options) { o.MessageSize, o.MaxPending = 300_000, 2 },
		func(o *Options) {
			o.Persistent, o.TTL, o.Group, o.EnableMsgID, o.EnableTimestamp = true, 60_000, "g", true, true
		},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			f := amqptest.New(t, amqptest.Script{})
			o := served(t, f, NewClient())
			o.MessageCount = 203
			change(o)
			r := makeRun(t, o, nil)
			all(t, r, 203)
			extra(t, r, map[string]uint64{"received": 203, "completed": 203, "lost": 0, "duplicate": 0, "foreign": 0, "redelivered": 0})
			for _, d := range o.destinations {
				if n := f.Depth(d.name); n != 0 {
					t.Errorf("%d messages are left on %s", n, d.name)
				}
			}
			for _, name := range []string{latencyTransfer, latencyTransferSent} {
				if n := r.Latency[name].Count; n != 203 {
					t.Errorf("%d values of %s", n, name)
				}
			}
			if r.Bytes.Sent < 203*int64(o.MessageSize) || r.Bytes.Received < r.Bytes.Sent/2 || r.Warned("lost") {
				t.Errorf("bytes %+v, warnings %v", r.Bytes, r.Warnings)
			}
		})
	}
}

// A rate that the producers cannot divide is met exactly: of messages 0.999 ms apart 101
// are due within the warm-up of 100 ms, 500 in the 500 ms behind it.
func TestRate(t *testing.T) {
	o := served(t, amqptest.New(t, amqptest.Script{}), NewClient())
	o.Producers, o.MaxPending = 3, 10
	r := makeRun(t, o, func(e *engine.Options) {
		e.Rate, e.Duration, e.Warmup = engine.MustRate("1001"), 500*time.Millisecond, 100*time.Millisecond
	})
	if r.Counts.OK != 500 || r.WarmupCounts.OK != 101 {
		t.Errorf("counts %+v, warm-up %+v", r.Counts, r.WarmupCounts)
	}
	extra(t, r, map[string]uint64{"received": r.Counts.OK + r.WarmupCounts.OK})
	if n := r.Latency[latencyTransfer].Count; n != r.Counts.OK {
		t.Errorf("%d transfer times of %d measured messages", n, r.Counts.OK)
	}
}

// A transaction is committed when it is full, and at the end what is in it.
func TestCommitInterval(t *testing.T) {
	f := amqptest.New(t, amqptest.Script{})
	o := served(t, f, NewProducer())
	o.CommitInterval, o.MessageCount = 10, 25
	all(t, makeRun(t, o, nil), 25)
	if n, held := f.Depth("TEST"), f.Saw("transacted"); n != 25 || held != 25 {
		t.Errorf("%d messages, %d of them by transactions", n, held)
	}
}

// In a transaction that is not full the outcome of a message makes room for the next one.
func TestCommitLarge(t *testing.T) {
	o := served(t, amqptest.New(t, amqptest.Script{}), NewProducer())
	o.CommitInterval, o.MessageSize, o.MessageCount = 10, 2_000_000, 20
	all(t, makeRun(t, o, nil), 20)
}

// A message that is rejected takes its transaction with it.
func TestRollback(t *testing.T) {
	f := amqptest.New(t, amqptest.Script{Outcome: func(n int) (uint64, *wire.Error, bool) {
		if n == 13 {
			return wire.IsRejected, nil, true
		}
		return wire.IsAccepted, nil, true
	}})
	o := served(t, f, NewProducer())
	o.CommitInterval, o.MessageCount = 10, 30
	r := makeRun(t, o, nil)
	if r.Counts.OK != 20 || r.Counts.Failed != 10 || r.Errors[0].Class != classTransaction || f.Depth("TEST") != 20 {
		t.Errorf("counts %+v, errors %v, %d messages", r.Counts, r.Errors, f.Depth("TEST"))
	}
}

func TestOutcomes(t *testing.T) {
	f := amqptest.New(t, amqptest.Script{Outcome: func(n int) (uint64, *wire.Error, bool) {
		return []uint64{wire.IsAccepted, wire.IsRejected, wire.IsReleased, wire.IsModified}[n%4], nil, true
	}})
	o := served(t, f, NewProducer())
	o.MessageCount = 40
	r := makeRun(t, o, nil)
	if r.Counts.OK != 10 || r.Counts.Failed != 30 || len(r.Errors) != 3 || r.Warned("broke_off") {
		t.Fatalf("counts %+v, errors %v", r.Counts, r.Errors)
	}
	for _, e := range r.Errors {
		if e.Count != 10 || e.Class != classRejected && e.Class != classReleased && e.Class != classModified {
			t.Errorf("%+v", e)
		}
	}
}

// A consumer takes what it counts, and leaves the rest to others.
func TestConsumer(t *testing.T) {
	for i, change := range []func(*Options){
		func(*Options) {},
		func(o *Options) { o.Ack, o.Consumers = ackBatch, 3 },
		func(o *Options) { o.Tx = true },
	} {
		f := amqptest.New(t, amqptest.Script{})
		p := served(t, f, NewProducer())
		p.MessageCount, p.MaxPending = 300, 50
		all(t, makeRun(t, p, nil), 300)
		o := reach(NewConsumer(), p.Broker.broker.addr)
		o.MessageCount = 120
		change(o)
		r := makeRun(t, o, nil)
		all(t, r, 120)
		extra(t, r, map[string]uint64{"foreign": 0, "duplicate": 0})
		if n := f.Depth("TEST"); n != 180 {
			t.Errorf("case %d: %d messages are left of 300 less 120; %v", i, n, r.Warnings)
		}
		if r.Extra["transfer_from"] != fromDue || r.Latency[latencyTransfer].Count != 120 || len(r.Extra["runs"].(map[string]uint64)) != 1 {
			t.Errorf("extra %v, latencies %v", r.Extra, r.Latency)
		}
	}
}

// A count that is missed is unfinished.
func TestConsumerMisses(t *testing.T) {
	f := amqptest.New(t, amqptest.Script{})
	p := served(t, f, NewProducer())
	p.MessageCount, p.Plain = 30, true
	all(t, makeRun(t, p, nil), 30)
	o := reach(NewConsumer(), p.Broker.broker.addr)
	o.MessageCount = 50
	r := makeRun(t, o, func(e *engine.Options) { e.Duration = 300 * time.Millisecond })
	if r.Counts.OK != 30 || r.Counts.Unfinished != 20 {
		t.Errorf("counts %+v", r.Counts)
	}
	extra(t, r, map[string]uint64{"foreign": 30})
	if r.Extra["transfer_from"] != fromSent {
		t.Errorf("extra %v", r.Extra)
	}
}

// Messages of an earlier run are told apart, and out of the way afterwards.
func TestLeftovers(t *testing.T) {
	f := amqptest.New(t, amqptest.Script{})
	p := served(t, f, NewProducer())
	p.MessageCount = 17
	all(t, makeRun(t, p, nil), 17)
	o := reach(NewClient(), p.Broker.broker.addr)
	o.MessageCount = 20
	r := makeRun(t, o, nil)
	all(t, r, 20)
	extra(t, r, map[string]uint64{"received": 20, "foreign": 17, "lost": 0})
	if n := f.Depth("TEST"); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// Without --reconnect a broker that goes away ends the run, and every message has its fate.
func TestBrokerDies(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		failed uint64 // at least
	}{
		{func(*Options) {}, 1},
		{func(o *Options) { o.MaxPending = 100 }, 1},
		{func(o *Options) { o.CommitInterval = 20 }, 1},
		{func(o *Options) { o.Tx = true }, 0}, // it dies of a commit, when every message may have its answer
	} {
		o := served(t, amqptest.New(t, amqptest.Script{AtTransfer: dieAt(203)}), NewClient())
		o.Reconnect = 0
		c.change(o)
		r := makeRun(t, o, func(e *engine.Options) { e.Duration, e.Drain = time.Hour, engine.DrainOf(time.Hour) })
		if !r.Warned("broke_off") || r.Counts.OK == 0 || r.Counts.Failed < c.failed || r.Counts.Unfinished > 0 {
			t.Errorf("counts %+v, warnings %v", r.Counts, r.Warnings)
		}
	}
}

// Credit that does not come is named.
func TestNoCredit(t *testing.T) {
	o := served(t, amqptest.New(t, amqptest.Script{Credit: 1}), NewProducer())
	o.MaxPending, o.MessageCount = 10, 200
	r := makeRun(t, o, nil)
	all(t, r, 200)
	if _, ok := r.Extra["no_credit"]; !ok {
		t.Errorf("extra %v", r.Extra)
	}
}

func TestRefused(t *testing.T) {
	o := served(t, amqptest.New(t, amqptest.Script{Refuse: &amqp.Error{Condition: "amqp:not-found", Description: "no such queue"}}), NewClient())
	_, err := engine.Run(t.Context(), plan(t, o, func(e *engine.Options) { e.Requests = 1 }))
	const want = "cannot reach the target: cannot receive from TEST: the broker ended link"
	if err == nil || err.Error()[:len(want)] != want {
		t.Error(err)
	}
}

// What the broker does not support ends the command before the run, with the flag that
// it is about.
func TestUnfit(t *testing.T) {
	rabbit := map[string]string{"product": "RabbitMQ", "version": "3.10.8"}
	no := &amqp.Error{Condition: "amqp:not-implemented", Description: "Transactions not supported"}
	for _, c := range []struct {
		script amqptest.Script
		change func(*Options)
		want   string
	}{
		{amqptest.Script{}, func(o *Options) { o.Shared = 1 }, "test does not support --shared; leave that out"},
		{amqptest.Script{Properties: rabbit}, func(o *Options) { o.Durable, o.ClientID, o.Selector = true, "c", "a = 1" },
			"RabbitMQ 3.10.8 does not support --durable and --selector; leave that out"},
		{amqptest.Script{Properties: map[string]string{"product": "RabbitMQ", "version": "4.1.0"}}, func(*Options) {},
			"RabbitMQ 4.1.0 lets nobody receive from topic://T; bind a queue to the exchange amq.topic there, and receive from queue://NAME"},
		{amqptest.Script{Refuse: no}, func(o *Options) { o.Tx = true },
			"cannot send to the transaction coordinator: the broker ended link *: amqp:not-implemented: Transactions not supported; " +
				"the broker may not support transactions: leave out --tx"},
	} {
		o := served(t, amqptest.New(t, c.script), NewClient())
		c.change(o)
		_, err := engine.Run(t.Context(), plan(t, o, func(e *engine.Options) { e.Requests = 1 }, "topic://T"))
		if err == nil || regexp.MustCompile(`"[^"]*"`).ReplaceAllString(err.Error(), "*") != "cannot reach the target: "+c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// A prefix is the flag's, else the one that the broker says it has.
func TestPrefixes(t *testing.T) {
	f := amqptest.New(t, amqptest.Script{Properties: map[string]string{"queue-prefix": "queue://", "topic-prefix": "topic://"}})
	o := served(t, f, NewProducer())
	o.MessageCount, o.QueuePrefix = 10, "/q/"
	if _, err := engine.Run(t.Context(), plan(t, o, nil, "A", "topic://B")); err != nil {
		t.Fatal(err)
	}
	if a, b := f.Depth("/q/A"), f.Depth("topic://B"); a != 5 || b != 5 {
		t.Errorf("%d and %d messages, want 5 of each", a, b)
	}
}

// Consumers that are more than a second behind are named, and so is what they did not
// commit.
func TestBacklog(t *testing.T) {
	for _, c := range []struct {
		expected, received, open int
		messages, uncommitted    uint64
		slow                     bool
	}{
		{1000, 1000, 0, 0, 0, false},
		{1000, 667, 0, 333, 0, false}, // of 2 s of work 0.999
		{1000, 666, 0, 334, 0, true},
		{1000, 1000, 400, 400, 400, true},
		{1000, 0, 0, 1000, 0, false}, // lost says that
	} {
		o := NewClient()
		o.Tx = true
		r := o.newRun()
		r.expected.Store(uint64(c.expected))
		r.meter.sent.Store(uint64(c.expected))
		for i := range c.received {
			r.tally.note(r, 0, &stamp{ours: true, run: r.id, number: uint64(i)}, 0, false)
		}
		k := &consumer{tx: &acceptances{}}
		k.tx.open.Store(int64(c.open))
		r.consumers = []*consumer{k}
		r.behind(2 * time.Second)
		rep := &takt.Report{Extra: map[string]any{}}
		r.describeReceipt(rep, counts{})
		extra(t, rep, map[string]uint64{"backlog": c.messages, "uncommitted": c.uncommitted})
		if rep.Warned("slow_consumer") != c.slow || rep.Warned("uncommitted") != (c.open > 0) {
			t.Errorf("%+v: %+v", c, rep.Warnings)
		}
	}
}

// Nothing is left running.
func TestGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("run", func(t *testing.T) {
		o := served(t, amqptest.New(t, amqptest.Script{}), NewClient())
		o.MessageCount, o.Consumers, o.Producers = 100, 3, 3
		all(t, makeRun(t, o, nil), 100)
	})
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left of %d", runtime.NumGoroutine(), before)
		}
	}
}

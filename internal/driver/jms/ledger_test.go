package jms

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/driver/jms/manage"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
	"github.com/taktload/takt/pkg/takt"
)

// manages is a broker that answers like Artemis about its queue TEST; change changes the manage.Queue
// of the later answers.
type manages struct {
	*amqptest.Broker
	s      amqptest.Script
	asked  atomic.Int64 // times that the queue was asked for
	change func(c *manage.Queue)
	born   time.Time
}

func artemis(t *testing.T) *manages {
	m := &manages{s: amqptest.Script{Properties: map[string]string{"product": manage.ArtemisProduct}}, change: func(*manage.Queue) {}, born: time.Now().Add(-time.Hour)}
	m.s.Answer = m.answer
	m.Broker = amqptest.New(t, m.s)
	return m
}

func (m *manages) answer(address string, q amqptest.Question) (bool, string) {
	switch {
	case address != manage.ArtemisAddress || q.Text("_AMQ_ResourceName") != "broker":
		return false, `["unknown"]`
	case q.Text("_AMQ_Attribute") == "uptimeMillis":
		return true, fmt.Sprintf("[%d]", time.Since(m.born).Milliseconds())
	case q.Text("_AMQ_Attribute") == "nodeID":
		return true, `["node"]`
	}
	c := manage.Queue{Depth: manage.Count(m.Depth("TEST"))}
	c.Added = c.Depth + 100 // of former runs
	if m.asked.Add(1) > 1 {
		m.change(&c)
	}
	return true, fmt.Sprintf(`["{\"data\":[{\"id\":\"1\",\"name\":\"TEST\",\"routingType\":\"ANYCAST\",\"filter\":\"\",\"lastValue\":\"false\",\"ringSize\":\"-1\",`+
		`\"consumerCount\":\"%d\",\"messageCount\":\"%d\",\"messagesAdded\":\"%d\",\"messagesAcked\":\"%d\",\"messagesExpired\":\"%d\",\"messagesKilled\":\"%d\"}],\"count\":1}"]`,
		c.Consumers, c.Depth, c.Added, c.Delivered, c.Expired, c.Dead)
}

// What the broker acknowledged and its queue never got is missing; what nobody here sent is
// surplus; and messages that the broker removed are named.
func TestLedger(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*manage.Queue)
		want    takt.Ledger
		stored  uint64
		warning takt.WarningCode
	}{
		"honest":  {func(*manage.Queue) {}, takt.Ledger{}, 203, ""},
		"lost":    {func(c *manage.Queue) { c.Added -= 3 }, takt.Ledger{Missing: 3}, 200, "ledger_missing"},
		"doubled": {func(c *manage.Queue) { c.Added += 4 }, takt.Ledger{Surplus: 4}, 207, "ledger_surplus"},
		"expired": {func(c *manage.Queue) { c.Expired = 5 }, takt.Ledger{Expired: 5}, 203, "ledger_expired"},
		"dead":    {func(c *manage.Queue) { c.Dead = 6 }, takt.Ledger{Dead: 6}, 203, "ledger_dead"},
	} {
		t.Run(name, func(t *testing.T) {
			m := artemis(t)
			m.change = c.change
			o := served(t, m.Broker, NewProducer())
			o.MessageCount, o.MaxPending = 203, 20
			r := makeRun(t, o, nil)
			all(t, r, 203)
			l := r.Ledger
			if l.Stored == nil || *l.Stored != c.stored || l.Delivered == nil || *l.Delivered != 0 || l.Source == "" {
				t.Fatalf("%+v", l)
			}
			c.want.Source, c.want.Acknowledged = l.Source, 203
			l.Stored, l.Delivered = nil, nil
			if l != c.want || l.Balanced() != (c.warning == "") || c.warning != "" && !r.Warned(c.warning) || strings.Contains(fmt.Sprint(r.Warnings), "ledger") != (c.warning != "") {
				t.Errorf("%+v, warnings %v", l, r.Warnings)
			}
		})
	}
}

// A queue may count a message after its acknowledgement.
func TestLedgerWaits(t *testing.T) {
	m := artemis(t)
	m.change = func(c *manage.Queue) {
		if m.asked.Load() < 4 {
			c.Added--
		}
	}
	o := served(t, m.Broker, NewProducer())
	o.MessageCount = 20
	if l := makeRun(t, o, nil).Ledger; l.Acknowledged != 20 || !l.Balanced() || m.asked.Load() != 4 {
		t.Errorf("%+v, asked %d times", l, m.asked.Load())
	}
}

// Without a ledger of its queues a broker causes no warning: it is another one,
// refuses, or the queue does not say what became of its messages.
func TestNoLedger(t *testing.T) {
	refusal := &wire.Error{Condition: "amqp:unauthorized-access", Description: "not you"}
	for name, change := range map[string]func(*amqptest.Script, *Options){
		"another broker": func(s *amqptest.Script, _ *Options) { s.Properties = nil },
		"refused":        func(s *amqptest.Script, _ *Options) { s.Refuse, s.Refused = refusal, manage.ArtemisAddress },
		"no":             func(s *amqptest.Script, _ *Options) { s.Answer = answers(false, `["no"]`) },
		"nonsense":       func(s *amqptest.Script, _ *Options) { s.Answer = answers(true, `[{"data":[`) },
		"nothing":        func(s *amqptest.Script, _ *Options) { s.Answer = answers(true, ``) },
		"a topic":        func(_ *amqptest.Script, o *Options) { o.TopicPrefix = "t" },
		"a prefix":       func(_ *amqptest.Script, o *Options) { o.QueuePrefix = "q" },
	} {
		t.Run(name, func(t *testing.T) {
			o, s := NewProducer(), artemis(t).s
			change(&s, o)
			served(t, amqptest.New(t, s), o)
			o.MessageCount = 20
			destination := "queue://TEST"
			if o.TopicPrefix != "" {
				destination = "topic://TEST"
			}
			r := makeRunTo(t, o, destination)
			all(t, r, 20)
			if why, _ := r.Extra["ledger_unknown"].(string); why == "" || (r.Ledger != takt.Ledger{}) || strings.Contains(fmt.Sprint(r.Warnings), "ledger") {
				t.Errorf("%+v, warnings %v, extra %v", r.Ledger, r.Warnings, r.Extra)
			}
		})
	}
}

// A message that is sent again after a broken connection, and refused then, may be in the queue all the same.
func TestLedgerOfMessagesRefusedTheSecondTime(t *testing.T) {
	m := artemis(t)
	var died atomic.Bool
	var refuses atomic.Int32 // messages
	m.s.AtTransfer = func(c *amqptest.Conn, n int) {
		if n == 203 && !died.Swap(true) {
			refuses.Store(100)
			c.Die()
		}
	}
	m.s.Outcome = func(int) (uint64, *wire.Error, bool) {
		if refuses.Add(-1) >= 0 {
			return wire.IsRejected, nil, true
		}
		return wire.IsAccepted, nil, true
	}
	m.Broker = amqptest.New(t, m.s)
	o := served(t, m.Broker, NewProducer())
	o.MaxPending = 100
	r := makeRun(t, o, func(e *engine.Options) {
		e.Rate, e.Requests, e.Drain = engine.MustRate("100000/s"), 600, engine.DrainOf(20*time.Second)
	})
	l := r.Ledger
	if l.Stored == nil {
		t.Fatalf("%+v, warnings %v", l, r.Warnings)
	}
	if l.Acknowledged != r.Counts.OK || l.Uncertain == 0 || l.Surplus > 0 || *l.Stored > l.Acknowledged+l.Uncertain {
		t.Errorf("%+v, stored %d, counts %+v", l, *l.Stored, r.Counts)
	}
}

func answers(ok bool, text string) func(string, amqptest.Question) (bool, string) {
	return func(string, amqptest.Question) (bool, string) { return ok, text }
}

// After an answer before the run, none after it is a warning.
func TestLedgerUnknown(t *testing.T) {
	m := artemis(t)
	var mu sync.Mutex
	m.s.Answer = func(address string, q amqptest.Question) (bool, string) {
		mu.Lock()
		defer mu.Unlock()
		if m.asked.Load() > 0 {
			return false, `["gone"]`
		}
		return m.answer(address, q)
	}
	m.Broker = amqptest.New(t, m.s)
	o := served(t, m.Broker, NewProducer())
	o.MessageCount = 20
	r := makeRun(t, o, nil)
	if l := r.Ledger; l.Acknowledged != 20 || l.Stored != nil || !l.Balanced() || !r.Warned("ledger_unknown") {
		t.Errorf("%+v, warnings %v", l, r.Warnings)
	}
}

// A broker that is too slow before the run has counters all the same: the report says why there is no ledger.
func TestLedgerUnread(t *testing.T) {
	m, over := artemis(t), make(chan struct{})
	m.s.Answer = func(address string, q amqptest.Question) (bool, string) {
		<-over
		return m.answer(address, q)
	}
	m.Broker = amqptest.New(t, m.s)
	o := served(t, m.Broker, NewProducer())
	o.MessageCount = 20
	defer close(over)
	r := makeRun(t, o, nil)
	if l := r.Ledger; l.Source != "" || !r.Warned("ledger_unknown") {
		t.Errorf("%+v, warnings %v", l, r.Warnings)
	}
}

// A restart loses the counters, so depths and receipts tell what is missing.
func TestLedgerAfterRestart(t *testing.T) {
	d := destination{name: "TEST"}
	for name, c := range map[string]struct {
		receives bool
		was, is  manage.Queue
		arrived  uint64
		want     takt.Ledger
		stored   int // negative: unknown
		fails    bool
	}{
		"all there":             {was: manage.Queue{Depth: 7}, is: manage.Queue{Depth: 107}, stored: 100},
		"perhaps there":         {is: manage.Queue{Depth: 105}, stored: 105},
		"twice":                 {is: manage.Queue{Depth: 112}, want: takt.Ledger{Surplus: 2}, stored: 112},
		"none":                  {is: manage.Queue{}, want: takt.Ledger{Missing: 100}},
		"less than before":      {was: manage.Queue{Depth: 50}, is: manage.Queue{Depth: 20}, want: takt.Ledger{Missing: 80}, stored: -1},
		"expired since":         {is: manage.Queue{Depth: 90, Expired: 10}, want: takt.Ledger{Expired: 10}, stored: 100},
		"others receive":        {is: manage.Queue{Depth: 90, Delivered: 10}, fails: true},
		"others wait":           {is: manage.Queue{Depth: 100, Consumers: 1}, fails: true},
		"received":              {receives: true, is: manage.Queue{Consumers: 1, Delivered: 60}, arrived: 100, stored: -1},
		"some received":         {receives: true, is: manage.Queue{Consumers: 1, Depth: 5}, arrived: 80, want: takt.Ledger{Missing: 15}, stored: -1},
		"others received, too":  {receives: true, is: manage.Queue{Consumers: 2}, arrived: 80, fails: true},
		"received and are dead": {receives: true, is: manage.Queue{Consumers: 1, Dead: 20}, arrived: 80, want: takt.Ledger{Dead: 20}, stored: -1},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			r := &run{o: NewProducer(), counters: counters{before: &manage.Reading{At: now, Uptime: time.Hour, Queues: map[string]manage.Queue{d.name: c.was}}}}
			b := books{acked: 100, uncertain: 10}
			if r.o.receives = c.receives; c.receives {
				b.consumers = 1
			}
			after := &manage.Reading{At: now.Add(time.Minute), Uptime: 30 * time.Second, Queues: map[string]manage.Queue{d.name: c.is}}
			l, err := r.compare(after, map[destination]books{d: b}, c.arrived)
			if (err != nil) != c.fails {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if (l.Stored == nil) != (c.stored < 0) || l.Stored != nil && *l.Stored != uint64(c.stored) {
				t.Errorf("stored %v, want %d", l.Stored, c.stored)
			}
			if l.Stored = nil; l != c.want {
				t.Errorf("%+v, want %+v", l, c.want)
			}
		})
	}
}

// The readings of two brokers, or of a queue and the one that replaced it, say nothing.
func TestLedgerOfTwo(t *testing.T) {
	d, now := destination{name: "TEST"}, time.Now()
	read := func(node, id string, added manage.Count) *manage.Reading {
		return &manage.Reading{At: now, Node: node, Uptime: time.Hour, Queues: map[string]manage.Queue{d.name: {ID: id, Added: added}}}
	}
	for _, after := range []*manage.Reading{read("other", "1", 120), read("node", "2", 120), read("node", "", 0), read("node", "1", 5)} {
		r := &run{o: NewProducer(), counters: counters{before: read("node", "1", 20)}}
		if l, err := r.compare(after, map[destination]books{d: {acked: 100}}, 0); err == nil {
			t.Errorf("%+v: %+v", after, l)
		}
	}
}

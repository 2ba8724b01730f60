package jms

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
	"github.com/taktload/takt/pkg/takt"
)

// at calls do at the n-th transfer of each connection.
func at(n int, do func(c *amqptest.Conn)) func(*amqptest.Conn, int) {
	return func(c *amqptest.Conn, transfers int) {
		if transfers == n {
			do(c)
		}
	}
}

// garbled is a frame with no performative.
func garbled() []byte { return []byte{0, 0, 0, 12, 2, 0, 0, 0, 'o', 'o', 'p', 's'} }

// half is the beginning of a transfer to the first receiver, and half of its frame.
func half() []byte {
	b := wire.OpenFrame(nil, wire.FrameAMQP, 1)
	l := wire.OpenList(b, wire.IsTransfer)
	l.Uint(amqptest.FirstHandle)
	l.Uint(0)
	b = wire.CloseFrame(append(l.Close(), bytes.Repeat([]byte("x"), 300)...), 0)
	return b[:len(b)/2]
}

// Whatever a broker does, the run ends in time, nothing breaks, and each message has one fate.
func TestHostileBroker(t *testing.T) {
	accepted := wire.State{Is: wire.IsAccepted}
	for name, c := range map[string]struct {
		script amqptest.Script
		change func(*Options)
		check  func(r *takt.Report, f *amqptest.Broker) bool
	}{
		"no credit": {script: amqptest.Script{NoCredit: true}, check: func(r *takt.Report, _ *amqptest.Broker) bool {
			return r.Counts.OK == 0 && r.Counts.Failed == 0 && r.Warned("no_credit")
		}},
		"settles what nobody sent": {
			script: amqptest.Script{AtTransfer: at(5, func(c *amqptest.Conn) {
				c.Say(&wire.Disposition{ByReceiver: true, First: 1000, Last: 1 << 30, Settled: true, State: accepted})
				c.Say(&wire.Disposition{ByReceiver: true, First: 1 << 31, Last: 1<<32 - 1, Settled: true, State: accepted})
				c.Say(&wire.Disposition{ByReceiver: true, First: 7, Last: 3, Settled: true, State: accepted})
			})},
			check: func(r *takt.Report, _ *amqptest.Broker) bool { return r.Counts.OK == r.Counts.Scheduled },
		},
		"settles twice": {
			script: amqptest.Script{AtTransfer: at(5, func(c *amqptest.Conn) {
				c.Say(&wire.Disposition{ByReceiver: true, First: 0, Last: 3, Settled: true, State: accepted})
				c.Say(&wire.Disposition{ByReceiver: true, First: 0, Last: 3, Settled: true, State: wire.State{Is: wire.IsRejected}})
			})},
			check: func(r *takt.Report, _ *amqptest.Broker) bool { return r.Counts.OK == r.Counts.Scheduled },
		},
		"garbled": {script: amqptest.Script{AtTransfer: at(5, func(c *amqptest.Conn) { c.SayRaw(garbled()) })}, check: inOutage},
		"closes in a transfer": {
			script: amqptest.Script{AtTransfer: at(5, func(c *amqptest.Conn) { c.SayRaw(half()); c.Hang() })}, check: inOutage,
		},
		"closes with a reason": {
			script: amqptest.Script{AtTransfer: at(5, func(c *amqptest.Conn) { c.Close(&wire.Error{Condition: "amqp:not-allowed"}) })}, check: inOutage,
		},
		"ends a link": {
			script: amqptest.Script{AtTransfer: at(5, func(c *amqptest.Conn) {
				c.Say(&wire.Detach{Handle: amqptest.FirstHandle, Closed: true, Err: &wire.Error{Condition: "amqp:resource-deleted"}})
			})},
			check: func(r *takt.Report, _ *amqptest.Broker) bool { return r.Warned("broke_off") },
		},
		"ends a link for its own sake": {
			script: amqptest.Script{AtTransfer: at(5, func(c *amqptest.Conn) {
				c.Say(&wire.Detach{Handle: amqptest.FirstHandle, Closed: true, Err: &wire.Error{Condition: "amqp:link:detach-forced"}})
			})},
			check: inOutage,
		},
		"ends a session": {
			script: amqptest.Script{AtTransfer: at(5, func(c *amqptest.Conn) { c.Say(&wire.Ending{Is: wire.IsEnd}) })},
			check:  func(r *takt.Report, _ *amqptest.Broker) bool { return r.Warned("broke_off") },
		},
		"never lets a message through": {
			script: amqptest.Script{AtTransfer: at(1, func(c *amqptest.Conn) { c.Hang() })},
			check: func(r *takt.Report, f *amqptest.Broker) bool {
				return r.Counts.OK == 0 && f.Saw("open ") < 30 // without waits there are hundreds
			},
		},
		"small frames": {
			script: amqptest.Script{MaxFrame: 512, Window: 3}, change: func(o *Options) { o.MessageSize = 900 },
			check: func(r *takt.Report, _ *amqptest.Broker) bool { return r.Counts.OK == r.Counts.Scheduled },
		},
		"little patience": {
			script: amqptest.Script{Idle: 100 * time.Millisecond, NoCredit: true},
			check:  func(_ *takt.Report, f *amqptest.Broker) bool { return f.Saw("heartbeat") >= 5 },
		},
		"no transaction ever ends": {
			script: amqptest.Script{Outcome: func(int) (uint64, *wire.Error, bool) { return wire.IsReceived, nil, false }},
			change: func(o *Options) { o.CommitInterval = 5 },
			check:  func(r *takt.Report, _ *amqptest.Broker) bool { return r.Counts.OK == 0 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait more than they work
			f := amqptest.New(t, c.script)
			o := served(t, f, NewClient())
			o.MaxPending = 20
			if c.change != nil {
				c.change(o)
			}
			r := makeRun(t, o, func(e *engine.Options) {
				e.Rate, e.Duration, e.Drain = engine.MustRate("100/s"), time.Second, engine.DrainOf(500*time.Millisecond)
			})
			if sum(r.Counts) != r.Counts.Scheduled || !c.check(r, f) {
				t.Errorf("counts %+v, errors %v, outages %+v, warnings %v, extra %v", r.Counts, r.Errors, r.Outages, r.Warnings, r.Extra)
			}
		})
	}
}

// inOutage: connections were lost, and the run went on.
func inOutage(r *takt.Report, _ *amqptest.Broker) bool {
	return len(r.Outages) > 0 && r.Counts.OK > 0 && !r.Warned("broke_off")
}

// A broker that is hostile before the run begins ends the command, in time.
func TestHostileBeforeTheRun(t *testing.T) {
	early := wire.OpenList(wire.OpenFrame(nil, wire.FrameAMQP, 1), wire.IsTransfer)
	early.Uint(amqptest.FirstHandle)
	early.Uint(0)
	message := wire.CloseFrame(append(early.Close(), 0, wire.CodeSmallUlong, wire.IsData, wire.CodeBin8, 0), 0)
	for name, c := range map[string]struct {
		script amqptest.Script
		want   string
	}{
		"a message before credit": {amqptest.Script{AtAttach: func(c *amqptest.Conn, _ int) { c.SayRaw(message) }}, "a message for link"},
		"one channel":             {amqptest.Script{Open: func(o *wire.Open) { o.ChannelMax = 0 }}, "no channel left"},
		"tiny frames":             {amqptest.Script{MaxFrame: 511}, "fields that make no sense"},
		"silence":                 {amqptest.Script{Mute: true}, "not all links were made within"},
		"an end at the attach":    {amqptest.Script{AtAttach: func(c *amqptest.Conn, _ int) { c.Hang() }}, "the broker"}, // a FIN or a RST
	} {
		o := served(t, amqptest.New(t, c.script), NewClient())
		o.ConnectTimeout, o.Producers, o.SharedConnections = 2*time.Second, 2, true
		_, err := engine.Run(t.Context(), plan(t, o, func(e *engine.Options) { e.Requests = 10 }))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

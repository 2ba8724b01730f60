package jms

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
	"github.com/taktload/takt/pkg/takt"
)

// A rate beyond what the pending messages allow: the report names the setting that held
// messages back. Where the bound held nothing back it says nothing.
func TestPendingBound(t *testing.T) {
	slow := func(int) (uint64, *wire.Error, bool) {
		time.Sleep(time.Millisecond) // so one pending message allows less than 1000/s
		return wire.IsAccepted, nil, true
	}
	for _, c := range []struct {
		name   string
		change func(o *Options, e *engine.Options)
		want   []string // nil: no warning
	}{
		{"one pending", func(*Options, *engine.Options) {}, []string{"at most 1 message may be pending (--max-pending 1, producers in all: 1)", "raise --max-pending"}},
		{"two producers", func(o *Options, _ *engine.Options) { o.Producers, o.MaxPending = 2, 3 }, []string{"at most 6 messages may be pending (--max-pending 3, producers in all: 2)"}},
		{"in flight", func(o *Options, e *engine.Options) { o.MaxPending, e.MaxInFlight = 100, 2 }, []string{"at most 2 messages may be pending (--max-in-flight)"}},
		{"closed loop", func(_ *Options, e *engine.Options) { e.Rate, e.Duration, e.Requests = engine.Rate{}, 0, 20 }, nil},
		{"reached", func(_ *Options, e *engine.Options) { e.Rate = engine.MustRate("20/s") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := served(t, amqptest.New(t, amqptest.Script{Outcome: slow}), NewProducer())
			r := makeRun(t, o, func(e *engine.Options) {
				e.Rate, e.Duration, e.Drain = engine.MustRate("20000/s"), 500*time.Millisecond, engine.DrainOf(10*time.Millisecond)
				c.change(o, e)
			})
			said := message(r, "pending_bound")
			if (said != "") != (c.want != nil) {
				t.Errorf("the report warns %q, want %q; rate %+v", said, c.want, r.Rate)
			}
			for _, part := range c.want {
				if !strings.Contains(said, part) {
					t.Errorf("the report warns %q, want %q in it", said, part)
				}
			}
		})
	}
}

// The bound allows the rate on average, so a freeze is the cause: no advice to raise the bound.
func TestPendingBoundAllowsTheRate(t *testing.T) {
	for ack, want := range map[float64]bool{2_700: false, 6_000: true} { // µs; one pending message at 200/s
		rate := 200.0
		rep := &takt.Report{DurationS: 3, Rate: takt.Rate{Intended: &rate, Achieved: 165}, Latency: map[string]takt.Latency{
			takt.LatencyService:     {Count: 600, Mean: ack},
			takt.LatencySendDelay:   {Count: 600, Mean: 40_000},
			takt.LatencyScheduleLag: {Count: 600, Mean: 10},
		}}
		o := NewProducer()
		o.destinations, o.Producers, o.window.pending, o.window.inFlight = make([]destination, 1), 1, 1, 1
		(&run{o: o}).describeBound(rep)
		if said := message(rep, "pending_bound"); (said != "") != want {
			t.Errorf("acknowledgements of %v µs: %q", ack, said)
		}
	}
}

// message is that of the first warning of a code; "": there is none.
func message(r *takt.Report, code takt.WarningCode) string {
	for _, w := range r.Warnings {
		if w.Code == code {
			return w.Message
		}
	}
	return ""
}

// Whatever ended a connection, the messages that can no more be sent have its class.
func TestClassesOfALostConnection(t *testing.T) {
	for _, err := range []error{
		errors.New("the broker ended the connection without a word"),
		fmt.Errorf("cannot read from the broker: %w", syscall.ECONNRESET),
		fmt.Errorf("cannot write to the broker: %w", syscall.EPIPE),
		fmt.Errorf("the broker ended the link: %w", &amqp.Error{Condition: "amqp:internal-error"}),
		amqp.ErrClosed,
	} {
		if class := classify(err); class != classConnection {
			t.Errorf("%v has the class %s, want %s", err, class, classConnection)
		}
	}
	if class := classify(fmt.Errorf("9 bytes where the broker takes 5: %w", amqp.ErrTooLarge)); class != classTooLarge {
		t.Errorf("a message that is too large has the class %s", class)
	}
}

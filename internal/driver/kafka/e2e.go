// Package kafka is takt kafka e2e: it puts together what its folders produce and consume do.
package kafka

import (
	"context"
	"sync"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/consume"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// E2E are the flags of takt kafka e2e: produce and consume in one process, so one clock
// measures both. An operation ends when its record is received.
type E2E struct {
	produce.Options
	consume consume.Options
}

// NewE2E returns the options with their defaults.
func NewE2E() *E2E {
	o := &E2E{Options: *produce.New(), consume: *consume.New()}
	o.consume.From = consume.FromLatest
	return o
}

// AddFlags declares the flags on fs.
func (o *E2E) AddFlags(fs *pflag.FlagSet) {
	o.Options.AddFlags(fs)
	value.Declare(fs, value.GroupConnections, o.consume.AddFetchFlags)
}

// Shape sets unset options as produce does; the drain also covers the receipt.
func (o *E2E) Shape(e *engine.Options) { o.Options.Shape(e) }

// Validate reports all faults at once.
func (o *E2E) Validate(args []string) []error {
	faults := value.Faults(o.Options.Validate(args))
	faults.If(o.Plain || o.Noop, "e2e needs a broker and stamps that say which record is which; drop --plain and --noop")
	o.consume.CheckFetch(&faults)
	o.consume.Cluster = o.Cluster
	o.consume.Committed = o.Transaction > 0
	if o.Client == cluster.ClientSaramaAsync {
		o.consume.Client = cluster.ClientSarama // sarama has only one kind of consumer
	}
	o.consume.At = cluster.OffsetLatest
	return faults
}

// Variables are the settings that shape the load or the target.
func (o *E2E) Variables() map[string]any {
	v := o.Options.Variables()
	v["fetch_min_bytes"], v["fetch_max_wait_s"] = o.consume.MinBytes, o.consume.MaxWait.Seconds()
	return v
}

// NoAnswer is driver.Load.NoAnswer: the receipt is the answer.
func (o *E2E) NoAnswer() (why, instead string) { return "", "" }

// Open makes the driver of one run.
func (o *E2E) Open(context.Context, int) (*takt.Driver, error) {
	o.Begin()
	o.consume.Traffic = o.Traffic
	r := consume.NewReceiver(o.Traffic, &o.RunID, o.Names()...)
	var p *produce.Runs
	var c consume.Consumer
	return &takt.Driver{
		Phases: cluster.Phases(),
		Lag:    r.Lag,
		Probe: func(ctx context.Context) error {
			if err := o.Probe(ctx); err != nil {
				return err
			}
			return o.consume.Probe(ctx)
		},
		Async: func(_ int, sink takt.Sink) (_ *takt.AsyncClient, err error) {
			if c, err = o.consume.Listen(r); err != nil {
				return nil, err
			}
			if p, err = o.Start(sink, true); err != nil {
				return nil, err
			}
			p.Receives(r.Arrivals, r.Has)
			return p.Client(), p.Watch(&o.Options, func(one *produce.Run, topic string) func(context.Context, int32) bool {
				return o.grow(one, c, topic)
			})
		},
		Receive: func(ctx context.Context, sink takt.Sink) error {
			return r.ReceiveOwn(ctx, c, sink)
		},
		Outage: func() (takt.Outage, bool) { return p.Outage() },
		Settle: func() takt.Settlement { return p.Settle() },
		Finish: func(ctx context.Context, rep *takt.Report) error {
			p.Describe(rep)
			o.Properties.Describe(rep)
			o.consume.FindLag(ctx, r, rep)
			r.Describe(rep)
			rep.Extra["lost"] = r.Lost(p.Lost)
			return nil
		},
		Close: sync.OnceValue(func() error {
			if c != nil {
				c.Close()
			}
			return nil
		}),
	}, nil
}

// grow lets records go to added partitions once the consumer reads them: from the next fetch
// on, so at the next look.
func (o *E2E) grow(p *produce.Run, c consume.Consumer, topic string) func(context.Context, int32) bool {
	from := o.Known(topic)
	return func(ctx context.Context, partitions int32) bool {
		if partitions > from {
			c.Follow(topic, from, partitions)
			from = partitions
			return false
		}
		return p.Grow(ctx, partitions)
	}
}

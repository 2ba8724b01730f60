package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// E2E are the flags of takt kafka e2e: produce and consume in one process, so one clock
// measures both. An operation ends when its record is received.
type E2E struct {
	Produce
	consume Consume
}

// NewE2E returns the options with their defaults.
func NewE2E() *E2E {
	o := &E2E{Produce: *NewProduce(), consume: *NewConsume()}
	o.consume.From = fromLatest
	return o
}

// AddFlags declares the flags on fs.
func (o *E2E) AddFlags(fs *pflag.FlagSet) {
	o.Produce.AddFlags(fs)
	fs.Var(value.Size(&o.consume.MinBytes), "fetch-min-bytes", "a broker waits for `BYTES` before it answers a fetch")
	fs.Var(value.Duration(&o.consume.MaxWait), "fetch-max-wait", "… but for `TIME` at most")
}

// Shape sets unset options as produce does; the drain also covers the receipt.
func (o *E2E) Shape(e *engine.Options) { o.Produce.Shape(e) }

// Validate reports all faults at once.
func (o *E2E) Validate(args []string) []error {
	faults := o.Produce.Validate(args)
	if o.Plain || o.Noop {
		faults = append(faults, value.Faultf("e2e needs a broker and stamps that say which record is which; drop --plain and --noop"))
	}
	o.consume.Cluster = o.Cluster
	o.consume.Committed = o.Transaction > 0
	if o.Client == clientSaramaAsync {
		o.consume.Client = clientSarama // sarama has only one kind of consumer
	}
	o.consume.at = offsetLatest
	return faults
}

// Variables are the settings that shape the load or the target.
func (o *E2E) Variables() map[string]any {
	v := o.Produce.Variables()
	v["fetch_min_bytes"], v["fetch_max_wait_s"] = o.consume.MinBytes, o.consume.MaxWait.Seconds()
	return v
}

// NoAnswer is driver.Load.NoAnswer: the receipt is the answer.
func (o *E2E) NoAnswer() (why, instead string) { return "", "" }

// Open makes the driver of one run.
func (o *E2E) Open(context.Context, int) (*takt.Driver, error) {
	o.begin()
	o.consume.wire = o.wire
	r := newReceiver(o.wire, &o.run)
	var p *producer
	var c consumer
	return &takt.Driver{
		Phases: phases(),
		Probe: func(ctx context.Context) error {
			if err := o.probe(ctx); err != nil {
				return err
			}
			return o.consume.probe(ctx)
		},
		Async: func(_ int, sink takt.Sink) (_ *takt.AsyncClient, err error) {
			if c, err = o.listen(r); err != nil {
				return nil, err
			}
			if p, err = o.open(sink); err != nil {
				return nil, err
			}
			p.received, p.uniform = true, false
			return p.client(), o.watch(p, o.grow(p, c))
		},
		Receive: func(ctx context.Context, sink takt.Sink) error {
			return c.consume(ctx, func(batch []message, at time.Time) int {
				r.decode(batch, at)
				for i := range batch {
					m := &batch[i]
					r.count(batch[i:i+1], 1)
					if !r.ours(m) {
						continue
					}
					var res takt.Result
					o.wire.drain(&res)
					res.Phases[phaseTransfer] = max(0, m.transfer)
					sink.Done(m.stamp.token, &res)
				}
				return len(batch)
			})
		},
		Finish: func(ctx context.Context, rep *takt.Report) error {
			p.describe(rep)
			o.consume.findLag(ctx, r, rep)
			r.describe(rep)
			rep.Extra["received"] = r.ledger.Received
			rep.Extra["lost"] = p.lost(r)
			return nil
		},
		Close: sync.OnceValue(func() error {
			if c != nil {
				c.close()
			}
			return nil
		}),
	}, nil
}

// grow lets records go to added partitions once the consumer reads them: from the next fetch
// on, so at the next look.
func (o *E2E) grow(p *producer, c consumer) func(context.Context, int32) bool {
	from := o.partitions
	return func(ctx context.Context, partitions int32) bool {
		if partitions > from {
			c.follow(from, partitions)
			from = partitions
			return false
		}
		return p.grow(ctx, partitions)
	}
}

// listen begins to consume before any record is sent.
func (o *E2E) listen(r *receiver) (consumer, error) {
	if o.consume.Client == clientSarama {
		return o.consume.openSaramaPartitions(r)
	}
	f, err := o.consume.openFranzConsumer(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.ConnectTimeout)
	defer cancel()
	if err := f.await(ctx); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

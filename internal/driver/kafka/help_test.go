package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// options are those of all three commands.
type options interface {
	Shape(o *engine.Options)
	Validate(args []string) []error
	Variables() map[string]any
	Open(ctx context.Context, conns int) (*takt.Driver, error)
}

// broker starts a fake cluster with the topic sangrenel of three partitions.
func broker(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(3, "sangrenel")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// plan prepares a run; change sets what is not the default.
func plan(t *testing.T, o options, change func(e *engine.Options)) engine.Plan {
	t.Helper()
	e := engine.Defaults()
	e.Drain = engine.DrainOf(5 * time.Second)
	change(&e)
	o.Shape(&e)
	for _, err := range append(o.Validate(nil), e.Validate()...) {
		t.Fatal(err)
	}
	src, err := e.Source()
	if err != nil {
		t.Fatal(err)
	}
	d, err := o.Open(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Plan{Options: e, Kind: "kafka", Source: src, Driver: d}
}

func run(t *testing.T, o options, change func(e *engine.Options)) *takt.Report {
	t.Helper()
	r, err := engine.Run(context.Background(), plan(t, o, change))
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Counts; c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
		t.Errorf("counts do not add up: %+v", c)
	}
	return r
}

// requests is a closed loop of n operations.
func requests(n uint64) func(e *engine.Options) {
	return func(e *engine.Options) { e.Requests = n }
}

// producer are options that reach c.
func producerOf(c *kfake.Cluster) *Produce {
	o := NewProduce()
	o.Brokers = c.ListenAddrs()[0]
	return o
}

func consumerOf(c *kfake.Cluster) *Consume {
	o := NewConsume()
	o.Brokers = c.ListenAddrs()[0]
	return o
}

package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/taktload/takt/internal/driver/kafka/consume"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

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

// plan prepares a run that may drain for 20 s; change sets what is not the default.
func plan(t *testing.T, o drivertest.Flags, change func(e *engine.Options)) engine.Plan {
	t.Helper()
	return drivertest.Plan(t, "kafka", o, func(e *engine.Options) {
		e.Drain = engine.DrainOf(20 * time.Second)
		change(e)
	})
}

func run(t *testing.T, o drivertest.Flags, change func(e *engine.Options)) *takt.Report {
	t.Helper()
	return drivertest.Make(t, plan(t, o, change))
}

// requests is a closed loop of n operations.
func requests(n uint64) func(e *engine.Options) {
	return func(e *engine.Options) { e.Requests = n }
}

// producer are options that reach c.
func producerOf(c *kfake.Cluster) *produce.Options {
	o := produce.New()
	o.Brokers = c.ListenAddrs()[0]
	return o
}

func consumerOf(c *kfake.Cluster) *consume.Options {
	o := consume.New()
	o.Brokers = c.ListenAddrs()[0]
	return o
}

// partitions sums what a report has of them.
func partitions(r *takt.Report) (received uint64, lag int64) {
	for _, p := range r.Extra["partitions_received"].(map[string]any) {
		p := p.(map[string]any)
		received += p["received"].(uint64)
		lag += p["lag"].(int64)
	}
	return received, lag
}

package kafka

import (
	"testing"

	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
)

// A record is acknowledged when the kernel has the answer, not when takt has time to read it.
func TestArrived(t *testing.T) {
	for name, change := range map[string]func(o *produce.Options){
		"one for all":   func(*produce.Options) {},
		"keys":          func(o *produce.Options) { o.Key = "k{{.Seq}}" },
		"batches of 10": func(o *produce.Options) { o.BatchSize = 10 },
	} {
		t.Run(name, func(t *testing.T) {
			o := producerOf(broker(t, seeded()))
			change(o)
			drivertest.TellsArrivals(t, plan(t, o, func(e *engine.Options) { e.Rate, e.Requests = engine.MustRate("500"), 100 }))
		})
	}
}

package jms

import (
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
	"github.com/taktload/takt/internal/test/drivertest"
)

// A message is answered when the kernel has the answer, not when takt has time to read it.
func TestArrived(t *testing.T) {
	o := served(t, amqptest.New(t, amqptest.Script{}), NewProducer())
	drivertest.TellsArrivals(t, plan(t, o, func(e *engine.Options) { e.Rate, e.Requests = engine.MustRate("500"), 100 }, "q"))
}

package kafka

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/pkg/takt"
)

// A silence that the broker announced, because takt is above its quota, is no outage; another one is.
func TestQuotaIsNoOutage(t *testing.T) {
	start := time.Now()
	var w cluster.Traffic
	w.Throttled(5 * time.Second)
	for _, c := range []struct {
		from, to time.Duration
		held     bool
	}{
		{0, 5 * time.Second, true},
		{time.Second, 5500 * time.Millisecond, true},
		{time.Second, 7 * time.Second, false}, // two seconds more than the broker said
		{6 * time.Second, 8 * time.Second, false},
	} {
		if held := w.HeldSince(start)(c.from, c.to); held != c.held {
			t.Errorf("%v to %v: %v", c.from, c.to, held)
		}
		log := &outage.Log{Held: w.HeldSince(start)}
		part := log.Part("partition 0")
		part.Worked(c.from, c.from)
		part.Worked(c.from, c.to)
		rep := &takt.Report{Extra: map[string]any{}}
		log.Describe(rep, false)
		if outages := len(rep.Outages) > 0; outages == c.held {
			t.Errorf("%v to %v: %v", c.from, c.to, rep.Outages)
		}
	}
	if new(cluster.Traffic).HeldSince(start)(0, time.Second) {
		t.Error("held without a quota")
	}
}

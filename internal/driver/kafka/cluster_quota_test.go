package kafka

import (
	"strings"
	"testing"
	"testing/synctest"
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

// The time of a quota is that of the run in which any broker made takt wait: waits of several connections at once
// are one, and what is left of a wait at the end is none.
func TestTimeOfAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w cluster.Traffic
		w.Throttled(2 * time.Second)
		w.Throttled(2 * time.Second)
		time.Sleep(5 * time.Second)
		w.Throttled(4 * time.Second)
		time.Sleep(time.Second)
		rep := &takt.Report{DurationS: 6, Extra: map[string]any{}}
		w.Describe(rep)
		if rep.Extra["throttled_s"] != 3.0 || len(rep.Warnings) != 1 || !strings.Contains(rep.Warnings[0].Message, "with 3 answers, for 3s with the drain") {
			t.Errorf("%v %v", rep.Extra, rep.Warnings)
		}
	})
}

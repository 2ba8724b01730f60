package kafka

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
)

// A rate beyond what the writers can do: the report names them, and what waited for them
// does not count as sent in time.
func TestWritersBound(t *testing.T) {
	for _, c := range []struct {
		rate        string
		linger      time.Duration
		least, most float64 // records a second: a request has at most one for each partition
		want        string  // "": no warning
	}{
		{"2000/s", 0, 100, 310, "at most 5 batches of 1 records are in flight (--workers 1, --writers-per-worker 5, --message-batch-size 1)"},
		{"40/s", 0, 40, 40, ""},
		// 52 records of each partition in a request.
		{"20000/s", 5 * time.Millisecond, 5000, 16100, "at most 15 batches of 16384 bytes are in flight (--workers 1, --max-open-requests for each partition or --writers-per-worker 15, --batch-bytes 16384)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := produce.New()
			o.Linger = c.linger
			broker := virtual(t, &o.Cluster)
			defer broker.Close()
			broker.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
				broker.KeepControl()
				time.Sleep(10 * time.Millisecond) // so 100 requests a second
				return nil, nil, false
			})
			p := plan(t, o, func(e *engine.Options) {
				e.Rate, e.Duration, e.Drain = engine.MustRate(c.rate), 2*time.Second, engine.DrainOf(time.Minute)
			})
			r := fakeTime(t, p, time.Second, func() {})
			said := ""
			for _, w := range r.Warnings {
				if w.Code == "writers_bound" {
					said = w.Message
				}
			}
			if (said != "") != (c.want != "") || !strings.Contains(said, c.want) {
				t.Errorf("at %s the report warns %q, want %q", c.rate, said, c.want)
			}
			if rate := r.Rate.Achieved; rate < c.least || rate > c.most {
				t.Errorf("at %s %v/s were achieved, want %v to %v", c.rate, rate, c.least, c.most)
			}
		})
	}
}

package kafka

import (
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// The shards of e2e share a topic. Each counts only its own records, although it reads those of the
// others, and together they send exactly the operations of one run.
func TestShardsOfE2E(t *testing.T) {
	c := broker(t)
	at := engine.StartAt(time.Now().Add(5 * time.Second))
	var reports [3]*takt.Report
	var all sync.WaitGroup
	for i, shard := range []string{"1/3", "2/3", "3/3"} {
		o := e2eOf(c)
		p := plan(t, o, func(e *engine.Options) {
			e.Rate, e.Requests, e.StartAt, e.Shard = engine.MustRate("1000/s"), 200, at, engine.MustShard(shard)
		})
		all.Go(func() {
			var err error
			if reports[i], err = engine.Run(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for i, want := range []uint64{67, 67, 66} {
		r := reports[i]
		if r.Counts.Scheduled != want || r.Counts.OK != want || !r.StartedAt.Equal(time.Time(at)) {
			t.Errorf("shard %d: %+v, errors %+v, started %v after the instant", i+1, r.Counts, r.Errors, r.StartedAt.Sub(time.Time(at)))
		}
		expect(t, r, map[string]uint64{"received": want, "lost": 0, "duplicate": 0, "reordered": 0})
		if n := r.Extra["foreign"].(uint64); n > 200-want {
			t.Errorf("shard %d: %d foreign records", i+1, n)
		}
	}
}

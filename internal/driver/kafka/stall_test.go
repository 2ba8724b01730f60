package kafka

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/takt"
)

// virtual starts a fake cluster under fake time and gives o its network.
func virtual(t *testing.T, o *cluster.Cluster, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	var net kfake.VirtualNetwork
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(3, "sangrenel"), kfake.Ports(19092), kfake.ListenFn(net.Listen)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	o.Brokers, o.Dial = c.ListenAddrs()[0], net.DialContext
	return c
}

// rows runs p under fake time and returns its operations in the order of Seq.
func rows(t *testing.T, p engine.Plan) ([]takt.Sample, *takt.Report) {
	t.Helper()
	var mu sync.Mutex
	var all []takt.Sample
	p.NewWaiter = pace.Timer
	p.OnSamples = func(_ []string, list []takt.Sample) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, list...)
	}
	r, err := engine.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b takt.Sample) int { return int(a.Seq) - int(b.Seq) })
	return all, r
}

// A broker that stands still for a second makes each record due meanwhile late by what
// was left of that second, and no other record by anything.
func TestStall(t *testing.T) {
	const begins, ends = 305300 * time.Microsecond, 1305300 * time.Microsecond
	for _, c := range []struct {
		name           string
		batch, writers int
		linger         time.Duration
	}{
		{"one by one", 1, 5, 0},
		{"in batches", 500, 5, 0},
		{"one writer", 500, 1, 0},
		{"lingering", 500, 5, 4700 * time.Microsecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := produce.New()
				o.BatchSize, o.Writers, o.Linger = c.batch, c.writers, c.linger
				broker := virtual(t, &o.Cluster)
				defer broker.Close()
				p := plan(t, o, func(e *engine.Options) { e.Rate, e.Duration = engine.MustRate("100/s"), 2*time.Second })
				start := time.Now()
				broker.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
					broker.KeepControl()
					if at := time.Since(start); at >= begins && at < ends {
						time.Sleep(ends - at)
					}
					return nil, nil, false
				})
				all, r := rows(t, p)
				if r.Counts.OK != 200 || len(all) != 200 {
					t.Fatalf("counts %+v, errors %+v, %d rows", r.Counts, r.Errors, len(all))
				}
				for i, s := range all {
					due := time.Duration(i) * 10 * time.Millisecond
					want := c.linger
					if written := due + c.linger; written >= begins && written < ends {
						want = ends - due
					}
					if i == len(all)-1 {
						want = 0 // the schedule has nothing more, so nothing lingers
					}
					if s.Due != due || s.Done-s.Due != want {
						t.Errorf("record %d: due at %v, response time %v; want %v and %v", i, s.Due, s.Done-s.Due, due, want)
					}
				}
			})
		})
	}
}

// Any rate works and is even, also below the number of writers.
func TestEvenRates(t *testing.T) {
	for _, c := range []struct {
		rate   string
		n      int
		period time.Duration
	}{
		{"0.5/s", 5, 2 * time.Second},
		{"3/s", 30, time.Second / 3},
		{"7/s", 70, time.Second / 7},
		{"1000/s", 10000, time.Millisecond},
	} {
		t.Run(c.rate, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := produce.New()
				broker := virtual(t, &o.Cluster)
				defer broker.Close()
				all, r := rows(t, plan(t, o, func(e *engine.Options) { e.Rate, e.Duration = engine.MustRate(c.rate), 10*time.Second }))
				if len(all) != c.n || r.Counts.OK != uint64(c.n) {
					t.Fatalf("%d records, counts %+v", len(all), r.Counts)
				}
				for i := 1; i < len(all); i++ {
					if gap := all[i].Sent - all[i-1].Sent; gap < c.period || gap > c.period+time.Nanosecond {
						t.Fatalf("record %d was sent %v after the one before, want %v", i, gap, c.period)
					}
				}
			})
		})
	}
}

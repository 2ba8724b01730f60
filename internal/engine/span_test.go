package engine

import (
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// How long a schedule lasts, and how many operations a shard gets of it at most.
func TestSpan(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(o *Options)
		span   time.Duration
		known  bool // how many operations
	}{
		{"a rate", func(o *Options) { o.Rate, o.Duration = PerSecond(100), 10*time.Second }, 10 * time.Second, true},
		{"a warm-up", func(o *Options) { o.Rate, o.Duration, o.Warmup = PerSecond(100), 10*time.Second, time.Second }, 11 * time.Second, true},
		{"a number", func(o *Options) { o.Rate, o.Requests, o.Warmup = PerSecond(100), 500, time.Second }, 6 * time.Second, true},
		{"a ramp", func(o *Options) { o.Rate, o.Duration = MustRate("10/s..100/s"), 10*time.Second }, 10 * time.Second, true},
		{"random arrivals", func(o *Options) {
			o.Rate, o.Duration, o.Arrivals = PerSecond(100), 10*time.Second, MustArrivals(poisson)
		}, 10 * time.Second, true},
		{"bursts", func(o *Options) {
			o.Rate, o.Duration, o.Arrivals = PerSecond(100), 10*time.Second, MustArrivals("gamma:0.5")
		}, 10 * time.Second, true},
		{"without an end", func(o *Options) { o.Rate = PerSecond(100) }, -1, false},
		{"a closed loop", func(o *Options) { o.Requests = 100 }, -1, false},
		{"a closed loop with an end", func(o *Options) { o.Duration = 10 * time.Second }, 10 * time.Second, false},
	} {
		o := Defaults()
		c.change(&o)
		if got := o.Span(); got != c.span {
			t.Errorf("%s lasts %v, want %v", c.name, got, c.span)
		}
		for _, shards := range []int{1, 3} {
			o.Shard = Shard{}
			if err := o.Shard.Set([]string{"1/1", "1/3"}[shards/2]); err != nil {
				t.Fatal(err)
			}
			most := o.Most(shards)
			if !c.known {
				if most != 0 {
					t.Errorf("%s: %d operations", c.name, most)
				}
				continue
			}
			source, err := o.Source()
			if err != nil {
				t.Fatal(err)
			}
			n := uint64(0)
			for op := (takt.Op{}); source.Next(&op); {
				n++
			}
			if n > most || most-n > 2+n/3 {
				t.Errorf("%s: %d operations in one of %d shards, and %d at most", c.name, n, shards, most)
			}
		}
	}
}

package post

import (
	"math"
	"time"

	"github.com/taktload/takt/internal/timeline"
)

// Scale of all histograms: 2^Scale buckets for each power of two. A run whose latencies spread over a
// factor of 100 has 213 buckets. Scale 8 is the highest that Prometheus knows, and would have 1700.
const Scale = 5

// Exponential is a histogram of OpenTelemetry, and a native one of Prometheus: the bounds of its buckets are
// powers of 2^(1/32), so each is 2.2 % wide. It counts seconds: Counts[i] values were in (Bound(First+i), Bound(First+i+1)].
type Exponential struct {
	First  int
	Counts []uint64
}

// Bound is the lower bound of a bucket, in seconds.
func Bound(index int) float64 { return math.Exp2(float64(index) / (1 << Scale)) }

// ExponentialOf returns h in exponential buckets. A bucket of h is at most 0.1 % wide. It counts where its upper
// end is, which is the figure that takt shows for it.
func ExponentialOf(h timeline.Histogram) (e Exponential) {
	h.Each(func(_, to time.Duration, n uint64) {
		i := index(to)
		if len(e.Counts) == 0 {
			e.First = i
		}
		for len(e.Counts) <= i-e.First {
			e.Counts = append(e.Counts, 0)
		}
		e.Counts[i-e.First] += n
	})
	return e
}

// index is the bucket of d. Upper bounds belong to their bucket.
func index(d time.Duration) int {
	return int(math.Ceil(math.Log2(max(d, 1).Seconds())*(1<<Scale))) - 1
}

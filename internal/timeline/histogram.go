package timeline

import (
	"math"
	"time"

	"github.com/taktload/takt/pkg/hist"
)

// Histogram is a distribution that nobody changes: the buckets in use of a hist.Histogram, lowest
// first. It has 16 bytes for each bucket in use, some 20 KB for the latencies of a second, where a
// hist.Histogram has 264 KB. The zero value is empty.
type Histogram struct {
	buckets []bucket
	count   uint64
	sum     float64 // in nanoseconds
}

// bucket is a bucket in use.
type bucket struct {
	value time.Duration // lowest value
	count uint64
}

// Count is the number of values.
func (h Histogram) Count() uint64 { return h.count }

// Sum is the sum of all values in seconds, each counted as the middle of its bucket: at most 0.05 % off.
func (h Histogram) Sum() float64 { return h.sum / float64(time.Second) }

// Quantile is the value at q in [0, 1], as that of a hist.Histogram; 0: the histogram is empty.
func (h Histogram) Quantile(q float64) time.Duration {
	rank := uint64(max(1, math.Ceil(math.Nextafter(q, 0)*float64(h.count))))
	below := uint64(0)
	for _, b := range h.buckets {
		if below += b.count; below >= rank {
			return b.top()
		}
	}
	return h.Max()
}

// Max is the upper end of the highest bucket; 0: the histogram is empty.
func (h Histogram) Max() time.Duration {
	if len(h.buckets) == 0 {
		return 0
	}
	return h.buckets[len(h.buckets)-1].top()
}

// UpTo returns, for each bound, the number of values up to it. The bounds ascend. A value in the bucket
// of a bound counts as up to the bound, so a value 0.1 % above the bound may count, too.
func (h Histogram) UpTo(bounds []time.Duration) []uint64 {
	counts := make([]uint64, len(bounds))
	i, below := 0, uint64(0)
	for at, bound := range bounds {
		for ; i < len(h.buckets) && h.buckets[i].value <= bound; i++ {
			below += h.buckets[i].count
		}
		counts[at] = below
	}
	return counts
}

// Each calls do for each bucket in use, lowest first: count values from to to.
func (h Histogram) Each(do func(from, to time.Duration, count uint64)) {
	for _, b := range h.buckets {
		do(b.value, b.top(), b.count)
	}
}

// top is the highest value of a bucket.
func (b bucket) top() time.Duration { return hist.Top(b.value) }

// RecordIn records all values in a histogram that can grow.
func (h Histogram) RecordIn(to *hist.Histogram) {
	for _, b := range h.buckets {
		to.RecordN(b.value, b.count)
	}
}

// Decode reads an encoded histogram, as a takt.Interval has it.
func Decode(d *hist.Decoder, text string) (h Histogram, err error) {
	h.buckets = make([]bucket, 0, 64)
	err = d.Each(text, func(value time.Duration, n int64) error {
		h.add(bucket{value, uint64(n)})
		return nil
	})
	return h, err
}

// add adds a bucket above all others.
func (h *Histogram) add(b bucket) {
	h.buckets = append(h.buckets, b)
	h.count += b.count
	h.sum += float64(b.value+b.top()) / 2 * float64(b.count)
}

// Plus is the sum of two histograms.
func (h Histogram) Plus(o Histogram) Histogram {
	switch {
	case o.count == 0:
		return h
	case h.count == 0:
		return o
	}
	sum := Histogram{buckets: make([]bucket, 0, max(len(h.buckets), len(o.buckets))), count: h.count + o.count, sum: h.sum + o.sum}
	a, b := h.buckets, o.buckets
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].value < b[0].value:
			sum.buckets, a = append(sum.buckets, a[0]), a[1:]
		case a[0].value > b[0].value:
			sum.buckets, b = append(sum.buckets, b[0]), b[1:]
		default:
			sum.buckets = append(sum.buckets, bucket{a[0].value, a[0].count + b[0].count})
			a, b = a[1:], b[1:]
		}
	}
	sum.buckets = append(append(sum.buckets, a...), b...)
	return sum
}

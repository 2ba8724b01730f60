// Package hist is takt's latency histogram, based on hdrhistogram-go: durations of 1 ns to
// 1 h with three significant digits, 264 KiB each. Every percentile that takt shows comes
// from such a histogram, or from several merged ones.
package hist

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of every histogram. A value outside the range is recorded at the
// nearer end and counted by Clamped.
const (
	Lowest  = time.Nanosecond
	Highest = time.Hour
	Digits  = 3
)

// Histogram counts durations. It is not safe for concurrent use.
type Histogram struct {
	h       *hdrhistogram.Histogram
	clamped uint64
}

// New makes an empty histogram.
func New() *Histogram {
	return &Histogram{h: hdrhistogram.New(int64(Lowest), int64(Highest), Digits)}
}

// Record counts d. It does not allocate and takes about 5 ns. A d of zero or less is recorded
// as 1 ns. Zero does not count as clamped: a schedule lag of zero is a true value.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN counts d n times at the cost of one Record.
func (h *Histogram) RecordN(d time.Duration, n uint64) {
	if d < Lowest || d > Highest {
		d = h.clamp(d, n)
	}
	// Inside the range the only error left is a total beyond 2^63.
	_ = h.h.RecordValues(int64(d), int64(n))
}

func (h *Histogram) clamp(d time.Duration, n uint64) time.Duration {
	if d != 0 {
		h.clamped += n
	}
	return min(max(d, Lowest), Highest)
}

// Merge adds o. The library's Merge computes the bounds of every bucket up to the highest in use, which takes
// three times as long.
func (h *Histogram) Merge(o *Histogram) {
	h.clamped += o.clamped
	switch {
	case o.h.TotalCount() == 0:
	case isOurs(o.h):
		o.use(func(p *hdrhistogram.PackedHistogram) { p.MergeInto(h.h) })
	default:
		h.h.Merge(o.h)
	}
}

// scratch has packed histograms with takt's range.
var scratch = sync.Pool{New: func() any { return hdrhistogram.NewPacked(int64(Lowest), int64(Highest), Digits) }}

// use calls do with the buckets in use of h, which must have takt's range.
func (h *Histogram) use(do func(p *hdrhistogram.PackedHistogram)) {
	p := scratch.Get().(*hdrhistogram.PackedHistogram)
	defer scratch.Put(p)
	p.Reset()
	p.MergeFrom(h.h) // no value is dropped: the range is the same
	do(p)
}

// MergeEncoded is Merge of the histogram in s, with a quarter of Decode's garbage: 74 KB
// against 319 KB for 2000 buckets in use. Use a Decoder for input from outside. After an
// error h may have a part of s.
func (h *Histogram) MergeEncoded(s string) error {
	if s == "" {
		return nil
	}
	p, err := hdrhistogram.DecodePacked([]byte(s))
	if err != nil {
		return notEncoded(err)
	}
	if dropped := p.MergeInto(h.h); dropped > 0 {
		return notEncoded(fmt.Errorf("%d of its values are beyond %v, or more than 2^63 with the others", dropped, Highest))
	}
	return nil
}

// Reset empties h.
func (h *Histogram) Reset() {
	h.h.Reset()
	h.clamped = 0
}

// Count is the number of recorded values.
func (h *Histogram) Count() uint64 { return uint64(h.h.TotalCount()) }

// Clamped is the number of recorded values outside the range.
func (h *Histogram) Clamped() uint64 { return h.clamped }

// Quantile is the value at q in [0, 1] by nearest rank, ⌈q·n⌉, as in the Java HdrHistogram:
// the top of the bucket with that value, so at most 0.1 % above it. It is 0 for an empty
// histogram.
func (h *Histogram) Quantile(q float64) time.Duration { return quantile(h.h, q) }

func quantile(h counted, q float64) time.Duration {
	n := float64(h.TotalCount())
	if n == 0 {
		return 0
	}
	rank := rankOf(q, n)
	// hdrhistogram-go takes int(p/100·n + 0.5) as the rank: −0.25 makes it ours.
	return time.Duration(h.ValueAtPercentile((rank - 0.25) / n * 100))
}

// rankOf is the rank of a quantile of n values. The tiny step down keeps 0.95·20 = 19.000000000000004 at
// rank 19.
func rankOf(q, n float64) float64 { return max(1, math.Ceil(math.Nextafter(q, 0)*n)) }

// Min is the lower end of the lowest bucket in use; 0 for an empty histogram.
func (h *Histogram) Min() time.Duration { return time.Duration(h.h.Min()) }

// Max is the upper end of the highest bucket in use; 0 for an empty histogram.
func (h *Histogram) Max() time.Duration { return highest(h.h) }

// highest is the maximum. The library's Max computes the bounds of every bucket below.
func highest(h counted) time.Duration { return time.Duration(h.ValueAtPercentile(100)) }

// Mean is the mean of all recorded values; 0 for an empty histogram.
func (h *Histogram) Mean() time.Duration { return time.Duration(h.h.Mean()) }

// Above is the number of values in buckets wholly above d.
func (h *Histogram) Above(d time.Duration) uint64 {
	var n uint64
	h.each(func(b Bucket) {
		if b.From > d {
			n += b.Count
		}
	})
	return n
}

// Bucket is a part of the distribution: Count values in [From, To].
type Bucket struct {
	From, To time.Duration
	Count    uint64
}

// Buckets lists the buckets in use, lowest first.
func (h *Histogram) Buckets() []Bucket {
	var out []Bucket
	h.each(func(b Bucket) { out = append(out, b) })
	return out
}

// each calls do with each bucket in use, lowest first. The library's Distribution makes a list of all buckets, which
// takes 20 times as long.
func (h *Histogram) each(do func(Bucket)) {
	if !isOurs(h.h) {
		for _, bar := range h.h.Distribution() {
			if bar.Count > 0 {
				do(Bucket{time.Duration(bar.From), time.Duration(bar.To), uint64(bar.Count)})
			}
		}
		return
	}
	h.use(func(p *hdrhistogram.PackedHistogram) {
		for value, n := range p.ForEachBucket {
			do(Bucket{time.Duration(value), Top(time.Duration(value)), uint64(n)})
		}
	})
}

// Encode is Encoder.Encode for one histogram.
func (h *Histogram) Encode() string { return new(Encoder).Encode(h) }

// Decode reads the text of Encode; "" is an empty histogram.
func Decode(s string) (*Histogram, error) {
	if s == "" {
		return New(), nil
	}
	h, err := hdrhistogram.Decode([]byte(s))
	if err != nil {
		return nil, notEncoded(err)
	}
	return &Histogram{h: h}, nil
}

func notEncoded(err error) error {
	return fmt.Errorf("cannot decode the histogram: %w; is it V2 compressed base64?", err)
}

// Top is the highest value of the bucket whose lowest value is given, as Decoder.Each and Bucket have it.
func Top(value time.Duration) time.Duration { return valueAt(index(uint64(value))+1) - 1 }

package post

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
)

// of records durations and reads them as an exporter gets them.
func of(t *testing.T, list ...time.Duration) timeline.Histogram {
	t.Helper()
	h := hist.New()
	for _, d := range list {
		h.Record(d)
	}
	read, err := timeline.Decode(new(hist.Decoder), h.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// A power of two is the upper bound of its bucket; the nearest value above it is in the next.
func TestBoundsBelongBelow(t *testing.T) {
	for _, seconds := range []float64{1, 2, 0.5, 0.25, 1024} {
		d := time.Duration(seconds * float64(time.Second))
		at, after := index(d), index(d+d/500)
		if Bound(at+1) != seconds || after != at+1 {
			t.Errorf("%v is in bucket %d up to %v s, and what follows in %d", d, at, Bound(at+1), after)
		}
	}
}

func TestEveryValueIsInItsBucket(t *testing.T) {
	for d := hist.Lowest; d <= hist.Highest; d += d/3 + 1 {
		i := index(d)
		if s := d.Seconds(); s <= Bound(i)*(1-1e-12) || s > Bound(i+1)*(1+1e-12) {
			t.Errorf("%v is in bucket %d: (%v, %v]", d, i, Bound(i), Bound(i+1))
		}
	}
}

// Percentiles of the exponential histogram are at most one bucket, 2.2 %, above takt's.
func TestPercentilesAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var list []time.Duration
	for range 10_000 {
		list = append(list, time.Duration(1e6*math.Exp(2*random.NormFloat64())))
	}
	h := of(t, list...)
	e := ExponentialOf(h)
	var sum uint64
	for _, n := range e.Counts {
		sum += n
	}
	if sum != h.Count() || sum != 10_000 {
		t.Fatalf("%d values, and %d in buckets", h.Count(), sum)
	}
	for _, q := range []float64{0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		want, rank := h.Quantile(q).Seconds(), uint64(math.Ceil(q*10_000))
		i := 0
		for below := e.Counts[0]; below < rank; below += e.Counts[i] {
			i++
		}
		if from, to := Bound(e.First+i), Bound(e.First+i+1); want <= from || want > to || to/from > 1.022 {
			t.Errorf("quantile %v is %v, and in the bucket (%v, %v]", q, want, from, to)
		}
	}
}

func TestEmptyAndExtreme(t *testing.T) {
	if e := ExponentialOf(timeline.Histogram{}); len(e.Counts) != 0 {
		t.Errorf("an empty histogram has buckets: %+v", e)
	}
	if e := ExponentialOf(of(t, hist.Lowest, hist.Highest)); len(e.Counts) != 1336 || e.Counts[0] != 1 || e.Counts[1335] != 1 {
		t.Errorf("the whole range has %d buckets", len(e.Counts))
	}
}

package timeline

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
)

// random returns a histogram of n values, and the same as a snapshot.
func random(t *testing.T, rnd *rand.Rand, n int) (*hist.Histogram, Histogram) {
	t.Helper()
	full := hist.New()
	for range n {
		full.Record(time.Duration(math.Exp(rnd.Float64() * math.Log(float64(hist.Highest)))))
	}
	h, err := Decode(new(hist.Decoder), full.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return full, h
}

func same(t *testing.T, full *hist.Histogram, h Histogram) {
	t.Helper()
	if h.Count() != full.Count() || h.Max() != full.Max() {
		t.Fatalf("%d values up to %v, not %d up to %v", h.Count(), h.Max(), full.Count(), full.Max())
	}
	for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		if got, want := h.Quantile(q), full.Quantile(q); got != want {
			t.Errorf("quantile %v of %d values is %v, not %v", q, h.Count(), got, want)
		}
	}
	if got, want := h.Sum(), full.Mean().Seconds()*float64(full.Count()); math.Abs(got-want) > 0.001*want+1e-9 {
		t.Errorf("the sum of %d values is %v, not %v", h.Count(), got, want)
	}
}

// A snapshot, and the sum of two, say what hist.Histogram says.
func TestHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 100, 10_000} {
		fullA, a := random(t, rnd, n)
		fullB, b := random(t, rnd, n/2)
		same(t, fullA, a)
		sum := a.Plus(b)
		fullA.Merge(fullB)
		same(t, fullA, sum)
		total := uint64(0)
		sum.Each(func(from, to time.Duration, count uint64) {
			if to < from {
				t.Errorf("a bucket from %v to %v", from, to)
			}
			total += count
		})
		again := hist.New()
		if sum.RecordIn(again); again.Encode() != fullA.Encode() {
			t.Errorf("RecordIn makes another histogram of %d values", total)
		}
		if total != sum.Count() {
			t.Errorf("Each has %d of %d values", total, sum.Count())
		}
	}
}

// A value at a bound counts as up to the bound.
func TestUpTo(t *testing.T) {
	full := hist.New()
	for _, d := range []time.Duration{time.Millisecond, time.Millisecond, 2 * time.Millisecond, time.Second} {
		full.Record(d)
	}
	h, _ := Decode(new(hist.Decoder), full.Encode())
	got := h.UpTo([]time.Duration{time.Microsecond, time.Millisecond, 1500 * time.Microsecond, 2 * time.Millisecond, time.Minute})
	for i, want := range []uint64{0, 2, 2, 3, 4} {
		if got[i] != want {
			t.Fatalf("%v", got)
		}
	}
}

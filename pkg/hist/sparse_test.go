package hist

import (
	"math"
	"testing"
)

// What a Sparse was given is what a Histogram was given, at the edges of the range and of a page too.
func TestSparse(t *testing.T) {
	var all Sparse
	var d Decoder
	want := New()
	for name, h := range some() {
		var one Sparse
		if err := one.Merge(&d, h.Encode()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := New()
		if err := one.AddTo(got); err != nil || !got.h.Equals(h.h) || one.Count() != h.Count() {
			t.Errorf("%s: %d values, want %d; %v", name, one.Count(), h.Count(), err)
		}
		if h.Count() > 1<<60 {
			continue // leaves no room for more
		}
		want.Merge(h)
		if err := all.Merge(&d, h.Encode()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	got := New()
	if err := all.AddTo(got); err != nil || !got.h.Equals(want.h) {
		t.Errorf("%d values together, want %d; %v", got.Count(), want.Count(), err)
	}
}

// Quantiles are those of a Histogram, also after other values.
func TestSparseQuantiles(t *testing.T) {
	var s Sparse
	var d Decoder
	for name, h := range some() {
		s.Reset()
		if err := s.Merge(&d, h.Encode()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := s.Max(), h.Max(); got != want {
			t.Errorf("%s: max %d, want %d", name, got, want)
		}
		for _, q := range []float64{0, 1e-9, 0.01, 0.5, 0.75, 0.9, 0.99, 0.999, 0.999999, 1} {
			if got, want := s.Quantile(q), h.Quantile(q); got != want {
				t.Errorf("%s: quantile %v is %d, want %d", name, q, got, want)
			}
		}
	}
}

// Counts beyond 32 bits, in one step and in many, are exact; a sum beyond 63 is refused.
func TestSparseCounts(t *testing.T) {
	var s Sparse
	want := New()
	for _, n := range []int64{1, math.MaxUint32, math.MaxUint32, 1, 1 << 40, 1 << 62, 3} {
		if err := s.Add(70, n); err != nil {
			t.Fatal(err)
		}
		want.RecordN(70, uint64(n))
	}
	got := New()
	if err := s.AddTo(got); err != nil || !got.h.Equals(want.h) {
		t.Errorf("%d values, want %d; %v", got.Count(), want.Count(), err)
	}
	if before := s.Count(); s.Add(1, math.MaxInt64-int64(before)+1) == nil || s.Count() != before {
		t.Errorf("%d values", s.Count())
	}
	if err := s.AddTo(got); err == nil {
		t.Error("twice as many are too many for a histogram")
	}
}

func TestSparseRefuses(t *testing.T) {
	var s Sparse
	if s.Add(-1, 1) == nil || s.Add(valueAt(mostCounts), 1) == nil || s.Add(1, -1) == nil || s.Merge(new(Decoder), "nonsense") == nil || s.Count() != 0 {
		t.Errorf("%d values", s.Count())
	}
}

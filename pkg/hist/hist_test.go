package hist_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
)

func Example() {
	h := hist.New()
	for i := 1; i <= 1000; i++ {
		h.Record(time.Duration(i) * time.Microsecond)
	}
	fmt.Println(h.Count(), h.Quantile(0.5).Round(time.Microsecond))
	// Output: 1000 500µs
}

func TestQuantileIsNearestRank(t *testing.T) {
	h := hist.New()
	for i := 1; i <= 20; i++ {
		h.Record(time.Duration(i)) // below 2048 every value has a bucket of its own
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.05: 1, 0.051: 2, 0.5: 10, 0.95: 19, 0.951: 20, 1: 20} {
		if got := h.Quantile(q); got != want {
			t.Errorf("quantile %v = %v, want %v", q, int64(got), int64(want))
		}
	}
}

func TestOutOfRangeIsClampedAndCounted(t *testing.T) {
	h := hist.New()
	for _, d := range []time.Duration{-5, 0, time.Second, 2 * time.Hour} {
		h.Record(d)
	}
	if h.Count() != 4 || h.Clamped() != 2 {
		t.Fatalf("count %d clamped %d, want 4 and 2", h.Count(), h.Clamped())
	}
	if h.Max() < time.Hour {
		t.Errorf("max %v, want the hour that the highest value was clamped to", h.Max())
	}
}

// Quantiles of merged histograms are the quantiles of all values.
func TestMergeLaw(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	all, merged := hist.New(), hist.New()
	for range 7 {
		part := hist.New()
		for range 500 {
			d := time.Duration(rnd.ExpFloat64() * 1e7)
			all.Record(d)
			part.Record(d)
		}
		merged.Merge(part)
	}
	for q := 0.0; q <= 1; q += 0.01 {
		if all.Quantile(q) != merged.Quantile(q) {
			t.Fatalf("quantile %v: %v, merged %v", q, all.Quantile(q), merged.Quantile(q))
		}
	}
}

func TestEncodeDecode(t *testing.T) {
	h := hist.New()
	h.Record(3 * time.Millisecond)
	h.Record(7 * time.Second)
	back, err := hist.Decode(h.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if h.Summary() != back.Summary() {
		t.Errorf("%+v came back as %+v", h.Summary(), back.Summary())
	}
	if empty, err := hist.Decode(""); err != nil || empty.Count() != 0 {
		t.Errorf("an empty string gives %v, %v", empty, err)
	}
	if _, err := hist.Decode("nonsense"); err == nil {
		t.Error("nonsense was decoded")
	}
}

func TestAbove(t *testing.T) {
	h := hist.New()
	for i := 1; i <= 100; i++ {
		h.Record(time.Duration(i))
	}
	if n := h.Above(90); n != 10 {
		t.Errorf("%d values above 90, want 10", n)
	}
}

func TestLogAndSpectrum(t *testing.T) {
	var log, spectrum bytes.Buffer
	h := hist.New()
	h.Record(time.Millisecond)
	l, err := hist.NewLogWriter(&log, time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Write("response", time.Second, 2*time.Second, h); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "\nTag=response,1.000000,1.000000,1.0") {
		t.Errorf("log:\n%s", log.String())
	}
	if err := h.WriteSpectrum(&spectrum); err != nil || !strings.Contains(spectrum.String(), "#[Mean") {
		t.Errorf("spectrum (%v):\n%s", err, spectrum.String())
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := hist.New()
	if n := testing.AllocsPerRun(100, func() { h.Record(time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	h := hist.New()
	for i := range b.N {
		h.Record(time.Duration(i&0xfffff) * 100)
	}
}

package hist_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
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

// Both ends of the range are in it, and what was clamped survives a merge.
func TestClampedBounds(t *testing.T) {
	h, sum := hist.New(), hist.New()
	h.RecordN(hist.Lowest, 2)
	h.RecordN(hist.Highest, 3)
	if h.Count() != 5 || h.Clamped() != 0 || h.Min() != hist.Lowest {
		t.Errorf("%d values, %d clamped, the least is %v", h.Count(), h.Clamped(), h.Min())
	}
	h.RecordN(hist.Lowest-2, 7)
	h.RecordN(hist.Highest+1, 11)
	for range 2 {
		sum.Merge(h)
	}
	if h.Clamped() != 18 || sum.Clamped() != 36 || sum.Count() != 46 {
		t.Errorf("%d clamped; merged twice %d of %d", h.Clamped(), sum.Clamped(), sum.Count())
	}
	if sum.Reset(); sum.Clamped() != 0 || sum.Count() != 0 || sum.Max() != 0 {
		t.Errorf("after a reset %d of %d clamped, the most is %v", sum.Clamped(), sum.Count(), sum.Max())
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

// Figures are in microseconds, the percentiles by nearest rank.
func TestFigures(t *testing.T) {
	h := hist.New()
	for i := range time.Duration(1000) {
		h.Record(i + 1)
	}
	want := takt.Latency{Count: 1000, Min: 0.001, Mean: 0.5005, P50: 0.5, P75: 0.75, P90: 0.9, P95: 0.95, P99: 0.99, P99_9: 0.999, P99_99: 1, Max: 1}
	got := h.Figures()
	if math.Abs(got.Stdev-0.2886749902572) > 1e-12 { // √((1000² − 1) ÷ 12) ns
		t.Errorf("standard deviation %v", got.Stdev)
	}
	if got.Stdev = 0; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if s := h.Summary(); s.HDR != h.Encode() || s.Count != 1000 {
		t.Errorf("the summary has %d values and %d bytes of histogram", s.Count, len(s.HDR))
	}
	one := hist.New()
	one.RecordN(1, 19_999)
	one.Record(2000)
	if f := one.Figures(); f.P99_99 != 0.001 || f.Max != 2 {
		t.Errorf("one of 20 000: p99.99 %v, max %v", f.P99_99, f.Max)
	}
}

// An empty histogram has only zeros, and that of one value has that value.
func TestOfNoneAndOne(t *testing.T) {
	h := hist.New()
	if h.Quantile(0.5) != 0 || h.Max() != 0 || len(h.Buckets()) != 0 || h.Figures() != (takt.Latency{}) {
		t.Errorf("empty: %+v, buckets %v", h.Figures(), h.Buckets())
	}
	h.Record(7)
	if got := []time.Duration{h.Quantile(0), h.Quantile(0.5), h.Quantile(1), h.Min(), h.Max(), h.Mean()}; slices.ContainsFunc(got, func(d time.Duration) bool { return d != 7 }) {
		t.Errorf("of 7 alone: %v", got)
	}
}

// Buckets are those in use, with both ends.
func TestBuckets(t *testing.T) {
	h := hist.New()
	h.RecordN(5, 2)
	h.Record(5001) // from 4096 to 8191 four values share a bucket
	want := []hist.Bucket{{From: 5, To: 5, Count: 2}, {From: 5000, To: 5003, Count: 1}}
	if got := h.Buckets(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if h.Above(4999) != 1 || h.Above(5000) != 0 {
		t.Errorf("%d above 4999, %d above 5000", h.Above(4999), h.Above(5000))
	}
}

// The spectrum has five ticks in each half of what is left, and milliseconds.
func TestSpectrum(t *testing.T) {
	h := hist.New()
	for i := range time.Duration(1000) {
		h.Record(i + 1)
	}
	var b bytes.Buffer
	if err := h.WriteSpectrum(&b); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		if f := strings.Fields(line); len(f) == 4 && f[0] != "Value" {
			got = append(got, f[0]+" "+f[1])
		}
	}
	want := []string{"0.000 0.000000", "0.000 0.100000", "0.000 0.200000", "0.000 0.300000", "0.000 0.400000", "0.001 0.500000", "0.001 0.550000", "0.001 0.600000"}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The head of a log says the start to the millisecond.
func TestLogHead(t *testing.T) {
	var log bytes.Buffer
	if _, err := hist.NewLogWriter(&log, time.UnixMilli(1700000000250)); err != nil {
		t.Fatal(err)
	}
	const want = `#[Logged with takt]
#[Histogram log format version 1.3]
#[StartTime: 1700000000.25 (seconds since epoch), 2023-11-14T22:13:20Z]
"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
`
	if log.String() != want {
		t.Errorf("got\n%swant\n%s", log.String(), want)
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

// gaps is a histogram of 5,000 gaps of 20 ms, as of a second of streams.
func gaps() *hist.Histogram {
	h := hist.New()
	for i := range 5000 {
		h.Record(20*time.Millisecond + time.Duration(i*i)*time.Nanosecond)
	}
	return h
}

func BenchmarkMerge(b *testing.B) {
	into, h := hist.New(), gaps()
	b.ReportAllocs()
	for b.Loop() {
		into.Merge(h)
	}
}

func BenchmarkFigures(b *testing.B) {
	h := gaps()
	b.ReportAllocs()
	for b.Loop() {
		h.Figures()
	}
}

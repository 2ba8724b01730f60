package hist

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// some are histograms of every kind: the edges of the range, of the index and of
// the encoding, and random ones.
func some() map[string]*Histogram {
	all := map[string]*Histogram{
		"empty": of(), "lowest": of(Lowest), "highest": of(Highest), "both ends": of(Lowest, Highest), "zero": of(0),
		"clamped": of(-1, 2*Highest), "no gap": of(5, 6, 7), "gap of one": of(5, 7), "gap of two": of(5, 8),
		"gap of 63 and 64": of(100, 164, 229), // -64 is the last in one byte
		"every bucket":     New(), "every other": New(), "counts 2ⁿ": New(), "counts 2ⁿ − 1": New(),
	}
	for i := range buckets {
		all["every bucket"].Record(valueAt(i))
		if i%2 == 0 {
			all["every other"].Record(valueAt(i))
		}
	}
	for i := range 63 { // 2⁶³ − 1 in all, as many as there can be
		value, n := int64(valueAt(200*i)), int64(1)<<i
		_ = all["counts 2ⁿ"].h.RecordValues(value, n)
		_ = all["counts 2ⁿ − 1"].h.RecordValues(value, n-1)
	}
	for name, scale := range map[string]float64{"random 1 µs": 1e3, "random 1 ms": 1e6, "random 1 s": 1e9, "random 1 h": 3.6e12} {
		for n, more := range map[string]int{", few": 20, ", many": 5000} {
			all[name+n] = random(scale, more)
		}
	}
	return all
}

func of(values ...time.Duration) *Histogram {
	h := New()
	for _, d := range values {
		h.Record(d)
	}
	return h
}

func random(scale float64, n int) *Histogram {
	rnd := rand.New(rand.NewPCG(math.Float64bits(scale), uint64(n)))
	h := New()
	for range n {
		h.Record(time.Duration(rnd.ExpFloat64() * scale))
	}
	return h
}

// buckets is how many there are up to an hour, which lies under 2⁴²: 1024 for each
// power of two from 2¹⁰ on and as many below; the last ones are beyond the hour.
const buckets = 33 * 1024

// The library iterates from bucket 0 to the last in use, so it tells its index.
func TestIndexIsTheLibrarys(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	h := New()
	check := func(d time.Duration) {
		h.Reset()
		h.Record(d)
		if got, want := index(uint64(d)), len(h.h.Distribution())-1; got != want {
			t.Errorf("index of %d = %d, want %d", d, got, want)
		}
	}
	for d := Lowest; d <= Highest; d *= 2 {
		for near := max(Lowest, d-1); near <= d+1; near++ {
			check(near)
		}
		check(d + time.Duration(rnd.Int64N(int64(d))))
	}
	check(Highest)
	for i := range buckets {
		if got := index(uint64(valueAt(i))); got != i {
			t.Fatalf("the lowest value of bucket %d is in %d", i, got)
		}
	}
}

// What the encoder writes, whatever it wrote before, is what the library writes
// and reads.
func TestEncoderIsTheLibrary(t *testing.T) {
	var e Encoder
	for round := range 2 { // maps are in another order each time
		for name, h := range some() {
			text := e.Encode(h)
			if want := encodeOther(h.h); text != want && !(name == "empty" && text == "") {
				t.Errorf("%s, round %d: %d bytes, the library has %d others", name, round, len(text), len(want))
			}
			back, err := Decode(text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !back.h.Equals(h.h) || back.Max() != h.Max() || back.Quantile(0.99) != h.Quantile(0.99) {
				t.Errorf("%s: other counts came back", name)
			}
		}
	}
}

func TestEncoderKeepsOtherRanges(t *testing.T) {
	const hour = int64(time.Hour)
	for _, other := range []*hdrhistogram.Histogram{
		hdrhistogram.New(1000, hour, 3), hdrhistogram.New(1, 24*hour, 3), hdrhistogram.New(1, hour, 2),
	} {
		_ = other.RecordValue(hour)
		text := encodeOther(other)
		h, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := new(Encoder).Encode(h); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}

// Between its pieces the encoder lets others work, and writes the same.
func TestEncoderRests(t *testing.T) {
	h, rests := random(1e6, 3000), 0
	e := Encoder{Rest: func() { rests++ }}
	for round := range 2 {
		if e.Encode(h) != h.Encode() {
			t.Error("it writes something else")
		}
		if want := 3 * (round + 1); rests != want {
			t.Errorf("%d rests, want %d: before and after the buckets are gathered, and before they are packed", rests, want)
		}
	}
}

// A second encoding with the same encoder allocates its text and nothing else.
func TestEncoderAllocatesTheText(t *testing.T) {
	var e Encoder
	h := random(1e6, 3000)
	if n := testing.AllocsPerRun(10, func() { e.Encode(h) }); n != 1 {
		t.Errorf("%v allocations, want the string", n)
	}
}

func TestMergeEncoded(t *testing.T) {
	parts := some()
	delete(parts, "counts 2ⁿ") // leave no room for more
	delete(parts, "counts 2ⁿ − 1")
	got, want := New(), New()
	for name, part := range parts {
		if err := got.MergeEncoded(part.Encode()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want.Merge(part)
		if !got.h.Equals(want.h) {
			t.Fatalf("%s: other counts than by Merge", name)
		}
	}
	if err := got.MergeEncoded("nonsense"); err == nil || !got.h.Equals(want.h) {
		t.Errorf("nonsense: %v", err)
	}
}

// The log's lines are the library's, and tags that end too early are refused.
func TestLogLinesAreTheLibrarys(t *testing.T) {
	for name, h := range some() {
		for _, tag := range []string{"", "response"} {
			var got, want bytes.Buffer
			l, err := NewLogWriter(&got, time.Unix(1700000000, 0))
			if err != nil {
				t.Fatal(err)
			}
			got.Reset()
			from, to := 1234567890*time.Microsecond, 2345*time.Second
			if err := l.Write(tag, from, to, h); err != nil {
				t.Fatal(err)
			}
			once := got.Len()
			if err := l.WriteEncoded(tag, from, to, h, h.Encode()); err != nil {
				t.Fatal(err)
			}
			if got.String()[:once] != got.String()[once:] {
				t.Errorf("%s: the line with a known encoding differs", name)
			}
			got.Truncate(once)
			h.h.SetTag(tag)
			h.h.SetStartTimeMs(from.Milliseconds())
			h.h.SetEndTimeMs(to.Milliseconds())
			if err := hdrhistogram.NewHistogramLogWriter(&want).OutputIntervalHistogram(h.h); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Errorf("%s: got\n%.80s, want\n%.80s", name, got.String(), want.String())
			}
		}
	}
	l := LogWriter{w: new(bytes.Buffer)}
	for _, tag := range []string{"a,b", "a b", ",", "a\n"} {
		if l.Write(tag, 0, time.Second, New()) == nil {
			t.Errorf("tag %q was taken", tag)
		}
	}
}

// The highest bucket is the library's.
func TestMaxIsTheLibrarys(t *testing.T) {
	for name, h := range some() {
		if got, want := int64(h.Max()), h.h.Max(); got != want && h.Count() > 0 {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	h := random(1e6, 1100)
	b.Logf("%d buckets in use", len(h.Buckets()))
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			encodeOther(h.h)
		}
	})
	b.Run("again", func(b *testing.B) {
		var e Encoder
		b.ReportAllocs()
		for b.Loop() {
			e.Encode(h)
		}
	})
}

// The buckets in use are those of the library, whose list has empty ones, too.
func TestBucketsAreThoseOfTheLibrary(t *testing.T) {
	for name, h := range some() {
		var want []Bucket
		for _, bar := range h.h.Distribution() {
			if bar.Count > 0 {
				want = append(want, Bucket{time.Duration(bar.From), time.Duration(bar.To), uint64(bar.Count)})
			}
		}
		if got := h.Buckets(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

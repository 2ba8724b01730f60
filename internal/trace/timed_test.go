package trace_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
)

// Whole seconds are spread over themselves: all records, in their order, at least
// the stamp and less than a second later.
func TestJitter(t *testing.T) {
	counts := []int{1, 4, 0, 1000, 3, 0, 0, 1}
	var records []trace.Record
	for second, n := range counts {
		for i := range n {
			r := tracetest.At(time.Duration(second)*time.Second, fmt.Sprint("/", second, "/", i))
			r.Second = true
			records = append(records, r)
		}
	}
	for _, jitter := range []trace.Jitter{trace.Uniform, trace.Poisson, trace.Burst} {
		timed := trace.Timed(&tracetest.List{Records: slices.Clone(records)}, trace.Timing{Jitter: jitter, Seed: 3})
		var rec trace.Record
		i := 0
		for second, n := range counts {
			last := tracetest.Start.Add(time.Duration(second) * time.Second)
			for k := range n {
				if err := timed.Next(&rec); err != nil {
					t.Fatal(err)
				}
				offset := rec.At.Sub(tracetest.Start.Add(time.Duration(second) * time.Second))
				want := map[trace.Jitter]time.Duration{trace.Uniform: time.Duration(k) * time.Second / time.Duration(n), trace.Burst: 0, trace.Poisson: offset}[jitter]
				if string(rec.URI) != string(records[i].URI) || offset < 0 || offset >= time.Second || rec.At.Before(last) || offset != want || rec.Second {
					t.Fatalf("%v: %s at %v, want %s at %v", &jitter, rec.URI, offset, records[i].URI, want)
				}
				last = rec.At
				i++
			}
		}
		if err := timed.Next(&rec); err != io.EOF || timed.Spread() != 1009 || timed.Crowded() != 0 {
			t.Errorf("%v, %d spread", err, timed.Spread())
		}
	}
}

// Records of the same millisecond are spread over it, in their order; a single record keeps its
// stamp, like a finer stamp.
func TestMilliseconds(t *testing.T) {
	at := []time.Duration{0, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond, 2 * time.Millisecond, 2500 * time.Microsecond, 2500 * time.Microsecond}
	var records []trace.Record
	for i, d := range at {
		records = append(records, tracetest.At(d, fmt.Sprint("/", i)))
	}
	want := slices.Clone(at)
	for k := range 4 {
		want[1+k] += time.Duration(k) * 250 * time.Microsecond
	}
	for _, jitter := range []trace.Jitter{trace.Uniform, trace.Poisson, trace.Burst} {
		timed := trace.Timed(&tracetest.List{Records: slices.Clone(records)}, trace.Timing{Jitter: jitter, Seed: 3})
		var rec trace.Record
		last := tracetest.Start
		for i, d := range at {
			if err := timed.Next(&rec); err != nil {
				t.Fatal(err)
			}
			got := rec.At.Sub(tracetest.Start)
			if rec.At.Before(last) || string(rec.URI) != fmt.Sprint("/", i) || got < d || got-d >= time.Millisecond || jitter == trace.Uniform && got != want[i] || jitter == trace.Burst && got != d || (i == 0 || i > 4) && got != d {
				t.Errorf("%v: %s at %v", &jitter, rec.URI, got)
			}
			last = rec.At
		}
		if timed.Fine() != 4 || timed.Spread() != 0 {
			t.Errorf("%d and %d", timed.Fine(), timed.Spread())
		}
	}
}

// The random offsets are uniform in the second and depend on the seed alone: of
// 50 000 the greatest distance from the uniform distribution exceeds 1.95/√n once in
// a thousand seeds (Kolmogorov), and this seed is fixed.
func TestPoissonIsUniform(t *testing.T) {
	offsets := func(seed uint64) (list_ []float64) {
		var records []trace.Record
		for range 50_000 {
			r := tracetest.At(0, "/")
			r.Second = true
			records = append(records, r)
		}
		timed := trace.Timed(&tracetest.List{Records: records}, trace.Timing{Jitter: trace.Poisson, Seed: seed})
		var rec trace.Record
		for timed.Next(&rec) == nil {
			list_ = append(list_, rec.At.Sub(tracetest.Start).Seconds())
		}
		return list_
	}
	one := offsets(1)
	worst := 0.0
	for i, x := range one {
		worst = max(worst, math.Abs(x-float64(i)/50_000))
	}
	if worst > 1.95/math.Sqrt(50_000) {
		t.Errorf("the distance from uniform is %v", worst)
	}
	if !slices.Equal(one, offsets(1)) || slices.Equal(one, offsets(2)) {
		t.Error("the seed does not decide")
	}
}

// A second with more than can be kept loses nothing, and says how many are at its end.
func TestCrowdedSecond(t *testing.T) {
	const most = 131_072 // as Crowded says
	var records []trace.Record
	for i := range most + 10 {
		r := tracetest.At(0, "/")
		r.Second, r.Line = true, i
		records = append(records, r)
	}
	timed := trace.Timed(&tracetest.List{Records: append(records, tracetest.At(time.Second, "/next"))}, trace.Timing{})
	var rec trace.Record
	for i := range most + 10 {
		if err := timed.Next(&rec); err != nil || rec.Line != i || i >= most && rec.At != tracetest.Start.Add(time.Second-1) {
			t.Fatalf("%d is %d at %v, %v", i, rec.Line, rec.At, err)
		}
	}
	if err := timed.Next(&rec); err != nil || string(rec.URI) != "/next" || timed.Crowded() != 10 {
		t.Errorf("%v, %s, %d crowded", err, rec.URI, timed.Crowded())
	}
}

// Logs without times keep their order and do not wait.
func TestTimedWithoutTimes(t *testing.T) {
	timed := trace.Timed(&tracetest.List{Records: []trace.Record{{URI: []byte("/b")}, {URI: []byte("/a")}}, Err: io.ErrUnexpectedEOF}, trace.Timing{})
	var rec trace.Record
	for _, want := range []string{"/b", "/a"} {
		if err := timed.Next(&rec); err != nil || string(rec.URI) != want || !rec.At.IsZero() {
			t.Errorf("%s, %v", rec.URI, err)
		}
	}
}

func TestMerge(t *testing.T) {
	a := []trace.Record{tracetest.At(1, "/a1"), tracetest.At(3, "/a3"), tracetest.At(2, "/a2"), tracetest.At(9, "/a9")}
	b := []trace.Record{tracetest.At(2, "/b2"), tracetest.At(3, "/b3"), tracetest.At(4, "/b4")}
	m := trace.Merge(&tracetest.List{Records: a}, &tracetest.List{Records: b}, &tracetest.List{})
	var got []string
	var rec trace.Record
	for m.Next(&rec) == nil {
		got = append(got, string(rec.URI))
	}
	if text := strings.Join(got, " "); text != "/a1 /b2 /a3 /a2 /b3 /b4 /a9" {
		t.Error(text)
	}
	if m.Next(&rec) != io.EOF || trace.Merge().Next(&rec) != io.EOF {
		t.Error("no end")
	}
	none := trace.Merge(&tracetest.List{Records: []trace.Record{{URI: []byte("/1")}, {URI: []byte("/2")}}}, &tracetest.List{Records: []trace.Record{{URI: []byte("/3")}}})
	for _, want := range []string{"/1", "/2", "/3"} {
		if none.Next(&rec) != nil || string(rec.URI) != want {
			t.Errorf("%s, want %s", rec.URI, want)
		}
	}
	broken := errors.New("broken")
	if err := trace.Merge(&tracetest.List{Records: a}, &tracetest.List{Err: broken}).Next(&rec); err != broken {
		t.Error(err)
	}
}

func TestJitterFlag(t *testing.T) {
	for _, name := range []string{"uniform", "poisson", "burst"} {
		var j trace.Jitter
		if err := j.Set(name); err != nil || j.String() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	var j trace.Jitter
	if err := j.Set("none"); err == nil {
		t.Error("no fault")
	}
}

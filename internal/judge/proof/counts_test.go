package proof

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

func TestBins(t *testing.T) {
	before := 0
	for _, d := range []time.Duration{-5, 0, 1, 2, 7, 8, 9, 10, 16, 20, time.Microsecond, time.Millisecond, time.Hour, 2 * time.Hour} {
		i := bin(d)
		if i < before || i >= bins {
			t.Errorf("%v is in bin %d, after %d of %d", d, i, before, bins)
		}
		before = i
	}
	if a, b := bin(1024), bin(2047); b-a != 3 {
		t.Errorf("an octave has %d bins", b-a+1)
	}
	if bin(1023) == bin(1024) || bin(1279) != bin(1024) || bin(1280) == bin(1024) {
		t.Error("the quarters of an octave are wrong")
	}
}

// A run has 32 blocks if the end of its schedule is known, and otherwise more than 16, however long it is.
func TestBlocks(t *testing.T) {
	for _, plan := range []time.Duration{-1, 0, time.Millisecond, 3 * time.Second, time.Hour, 1<<63 - 1} {
		for _, ran := range []time.Duration{40 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second, 77 * time.Second, 24 * time.Hour} {
			c := New(plan)
			for i := range 1000 {
				c.Add(ran*time.Duration(i)/1000, time.Millisecond, 1)
			}
			if c.Count() != 1000 || c.used <= Most/2 || c.used > Most {
				t.Errorf("planned %v, ran %v: %d operations in %d blocks", plan, ran, c.Count(), c.used)
			}
			if plan == ran && c.used != Most {
				t.Errorf("%v as planned: %d blocks", ran, c.used)
			}
		}
	}
}

// Counts of shards are added by instants, whatever the lengths of their blocks are and in which order.
func TestMergeByInstants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	whole, parts := New(10*time.Second), []*Counts{New(10 * time.Second), New(10 * time.Second), New(10*time.Second + time.Millisecond)}
	for range 5000 {
		due, took, to := time.Duration(r.Int64N(int64(10*time.Second))), time.Duration(r.Int64N(1e9)), parts[r.IntN(3)]
		for _, c := range []*Counts{whole, to} {
			c.Add(due, took, 1)
			if took > 9e8 {
				c.Failed(due, 1)
			}
		}
	}
	short := New(10 * time.Second) // ended after 1 s, so its blocks are shorter
	for i := range 100 {
		due := time.Duration(i) * 10 * time.Millisecond
		short.Add(due, time.Second, 2)
		whole.Add(due, time.Second, 2)
	}
	for _, order := range [][]*Counts{{short, parts[0], parts[1]}, {parts[1], short, parts[0]}} {
		sum := New(0)
		sum = order[0]
		copied := *sum
		for _, c := range append(order[1:], parts[2]) {
			if err := copied.Merge(c); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := copied.above(0)
		b, _ := whole.above(0)
		if len(a) != len(b) || copied.Count() != whole.Count() {
			t.Fatalf("%d blocks with %d, want %d with %d", len(a), copied.Count(), len(b), whole.Count())
		}
		for i := range a {
			if d := a[i] - b[i]; d > 2 || d < -2 { // the third part's blocks are a little longer
				t.Errorf("block %d has %v, want %v", i, a[i], b[i])
			}
		}
	}
	if err := whole.Merge(New(7 * time.Second)); err != nil {
		t.Errorf("empty counts: %v", err)
	}
	other := New(7 * time.Second)
	other.Add(0, 1, 1)
	if whole.Merge(other) == nil {
		t.Error("blocks without common instants were added")
	}
}

func TestText(t *testing.T) {
	c := New(10 * time.Second)
	r := rand.New(rand.NewPCG(2, 2))
	for range 3000 {
		c.Add(time.Duration(r.Int64N(int64(10*time.Second))), time.Duration(r.Int64N(1e10)), r.Uint64N(1e6))
	}
	c.Dropped(9*time.Second, 3)
	got, err := Read(c.Text())
	if err != nil || got.blocks != c.blocks || got.length != c.length || got.used != c.used || got.first != c.first {
		t.Errorf("%v: %d %d %v, want %d %d %v", err, got.used, got.first, got.length, c.used, c.first, c.length)
	}
	if New(0).Text() != nil {
		t.Error("empty counts have a text")
	}
}

// What others wrote is refused in bounded memory.
func TestHostileTexts(t *testing.T) {
	good := New(time.Second)
	good.Add(0, time.Second, 5)
	text := good.Text()
	for name, bad := range map[string]takt.Blocks{
		"no length":       {LengthS: 0, Counts: text.Counts},
		"negative length": {LengthS: -1, Counts: text.Counts},
		"endless":         {LengthS: 1e300, Counts: text.Counts},
		"not base64":      {LengthS: 1, Counts: "!"},
		"empty":           {LengthS: 1},
		"long":            {LengthS: 1, Counts: strings.Repeat("A", 1<<20)},
		"another version": {LengthS: 1, Counts: base64.StdEncoding.EncodeToString([]byte{9, 2})},
		"cut":             {LengthS: 1, Counts: base64.StdEncoding.EncodeToString([]byte{1, 0x80})},
		"zero zeros":      {LengthS: 1, Counts: base64.StdEncoding.EncodeToString([]byte{1, 0})},
		"beyond the end":  {LengthS: 1, Counts: base64.StdEncoding.EncodeToString([]byte{1, 0xff, 0xff, 0xff, 0x01, 2})},
	} {
		if c, err := Read(&bad); err == nil {
			t.Errorf("%s: read as %d operations", name, c.Count())
		}
	}
}

// The counts of a sample must be of all its values.
func TestSampleNeedsItsCounts(t *testing.T) {
	h, c := hist.New(), New(time.Second)
	for i := range 1000 {
		h.Record(time.Millisecond)
		c.Add(time.Duration(i)*time.Millisecond, time.Millisecond, 1)
	}
	if NewSample(h, c) == nil {
		t.Error("no sample")
	}
	c.Add(0, 1, 1)
	if NewSample(h, c) != nil || NewSample(h, nil) != nil {
		t.Error("a sample of counts that are not its own")
	}
	if _, _, ok := (*Sample)(nil).Interval(0.5, Level); ok {
		t.Error("an interval of nothing")
	}
}

// A run whose interval is not known needs more operations than it has.
func TestNeedsMore(t *testing.T) {
	for _, n := range []int{100, 367, 2000} {
		h, c := hist.New(), New(time.Duration(n)*time.Millisecond)
		for i := range n {
			took := time.Millisecond
			if i%1000 >= 980 { // the slow ones are neighbours, so p99 is known worse than p90
				took = time.Second
			}
			h.Record(took)
			c.Add(time.Duration(i)*time.Millisecond, took, 1)
		}
		s := NewSample(h, c)
		_, _, ok := s.Interval(0.99, Level)
		if needs, alone := s.Needs(0.99, Level), s.Alone(0.99); ok || needs <= float64(n) || alone >= 368 {
			t.Errorf("%d operations: needs %.0f, count as %.0f, interval %v", n, needs, alone, ok)
		}
	}
}

// Who runs for the time that takt says has enough operations.
func TestLengthIsLongEnough(t *testing.T) {
	for s, want := range map[float64]string{0.25: "-z 250ms", 3: "-z 3s", 3.2: "-z 4s", 59.1: "-z 1m", 60: "-z 1m", 3600: "-z 1h"} {
		if got := Length(new(takt.Report), s); got != want {
			t.Errorf("%v s: %s, want %s", s, got, want)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	c := New(time.Hour)
	for i := range b.N {
		c.Add(time.Duration(i)*time.Microsecond, time.Duration(i%4096)*time.Microsecond, 1)
	}
}

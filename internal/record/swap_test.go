package record

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// second samples 3000 operations of 1 ms and more, which use 2000 buckets.
func second(r *Recorder, rnd *rand.Rand, at time.Duration) {
	res := takt.Result{Status: 200}
	res.Phases[0] = ms
	for i := range 3000 {
		sent := at + time.Duration(rnd.IntN(20_000))
		r.Sample(i, ended(at, at, sent, sent+ms+time.Duration(rnd.ExpFloat64()*float64(ms))), &res)
	}
}

// swaps makes a recorder with three shards, and a function that ends its next second.
func swaps() (fill func(), swap func()) {
	r := New(Config{Shards: 3, Phases: []string{"first_byte"}, Window: math.MaxInt64})
	rnd := rand.New(rand.NewPCG(1, 2))
	n := 0
	fill = func() { second(r, rnd, time.Duration(n)*time.Second) }
	swap = func() {
		n++
		r.Swap(Tick{At: time.Duration(n) * time.Second, Scheduled: uint64(n) * 3000})
	}
	return fill, swap
}

// A run that allocates nothing else must not collect garbage because it is
// watched: encoding two histograms made 1.7 MB a second once.
func TestSwapMakesLittleGarbage(t *testing.T) {
	fill, swap := swaps()
	for range 5 { // the encoder's buffers, and each set's histogram of the phase
		fill()
		swap()
	}
	const seconds, limit = 20, 10 << 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range seconds {
		fill()
		swap()
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / seconds; n > limit {
		t.Errorf("%d bytes a swap, want at most %d", n, limit)
	}
}

// What a swap does is in pieces: of each shard six histograms and its reset; of all
// together six for the totals and three for the interval; then the percentiles, two
// encodings of three, and the end.
func TestSwapRests(t *testing.T) {
	r := New(Config{Shards: 3, Phases: []string{"first_byte"}, Window: math.MaxInt64})
	second(r, rand.New(rand.NewPCG(1, 2)), 0)
	rests := 0
	if iv := r.Swap(Tick{At: time.Second, Rest: func() { rests++ }}); iv.OK != 3000 {
		t.Errorf("%d ok", iv.OK)
	}
	if want := 3*(6+1) + 6 + 3 + 1 + 2*3 + 1; rests != want {
		t.Errorf("%d rests, want %d", rests, want)
	}
}

func BenchmarkSwap(b *testing.B) {
	fill, swap := swaps()
	fill()
	swap()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		fill()
		b.StartTimer()
		swap()
	}
}

// What a journal wants beside the Swap: six histograms more are encoded.
func BenchmarkSecond(b *testing.B) {
	r := New(Config{Shards: 3, Phases: []string{"first_byte"}, Window: math.MaxInt64, Journal: true})
	second(r, rand.New(rand.NewPCG(1, 2)), 0)
	r.Swap(Tick{At: time.Second, Scheduled: 3000, Taken: new(Steps)})
	b.ReportAllocs()
	for b.Loop() {
		r.Second()
	}
}

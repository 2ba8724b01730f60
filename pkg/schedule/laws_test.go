package schedule

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// randomSpec makes valid specs of at most some thousand operations: constants,
// ramps, pauses, odd rates and lengths, with warm-up, limit and all processes.
func randomSpec(r *rand.Rand) Spec {
	rate := func() float64 {
		switch r.IntN(4) {
		case 0:
			return float64(r.IntN(400)) // with 0
		case 1:
			return float64(1+r.IntN(100)) / float64(1+r.IntN(100))
		case 2:
			return 400 * r.Float64()
		}
		return 100
	}
	s := Spec{Seed: r.Uint64()}
	switch r.IntN(5) {
	case 0:
		s.Poisson = true
	case 1:
		s.Gamma = min(max(math.Exp(3*r.NormFloat64()), MinCV), MaxCV)
	case 2:
		s.Like = patternOf(bursts(r, 2+r.IntN(300))...)
	}
	for range 1 + r.IntN(4) {
		d := time.Duration(1+r.IntN(4)) * time.Second / 2
		if r.IntN(2) == 0 {
			d = time.Duration(1 + r.Int64N(2e9))
		}
		g := Stage{d, rate(), rate()}
		if r.IntN(2) == 0 {
			g.To = g.From
		}
		s.Stages = append(s.Stages, g)
	}
	if r.IntN(3) == 0 {
		s.Warmup = time.Duration(1 + r.Int64N(2e9))
	}
	if r.IntN(3) == 0 {
		s.Limit = 1 + r.Uint64N(500)
	}
	if s.Validate() != nil {
		return randomSpec(r)
	}
	return s
}

// cumulative is Λ(t) of s with its warm-up: what is expected before t.
func cumulative(s Spec, t time.Duration) float64 {
	first := Stage{s.Warmup, s.Stages[0].From, s.Stages[0].From}
	sum := 0.0
	for _, g := range append([]Stage{first}, s.Stages...) {
		u, d := min(t, g.Duration).Seconds(), g.Duration.Seconds()
		if d > 0 {
			sum += u * (g.From + (g.To-g.From)*u/d/2)
		}
		if t -= g.Duration; t <= 0 {
			break
		}
	}
	return sum
}

func eachSpec(t *testing.T, law func(t *testing.T, s Spec)) {
	t.Helper()
	for seed := range uint64(200) {
		s := randomSpec(rand.New(rand.NewPCG(seed, 1)))
		if law(t, s); t.Failed() {
			t.Fatalf("seed %d: %+v", seed, s)
		}
	}
}

// Instants do not decrease, are not negative and come before the end; a limit
// counts the measured ones; equal specs give equal instants.
func TestOrderingLaw(t *testing.T) {
	eachSpec(t, func(t *testing.T, s Spec) {
		dues, end := all(t, s, 1<<20), open(t, s).End()
		if !slices.IsSorted(dues) {
			t.Error("instants decrease")
		}
		if len(dues) > 0 && (dues[0] < 0 || dues[len(dues)-1] >= end) {
			t.Errorf("due from %v to %v, end %v", dues[0], dues[len(dues)-1], end)
		}
		measured := 0
		for _, d := range dues {
			if d >= s.Warmup {
				measured++
			}
		}
		if s.Limit > 0 && uint64(measured) > s.Limit {
			t.Errorf("%d measured operations, limit %d", measured, s.Limit)
		}
		whole := s.Warmup
		for _, g := range s.Stages {
			whole += g.Duration
		}
		if end > whole || uint64(measured) != s.Limit && end != whole {
			t.Errorf("end %v, stages end %v; %d of %d", end, whole, measured, s.Limit)
		}
		if !slices.Equal(dues, all(t, s, 1<<20)) {
			t.Error("a second iteration differs")
		}
	})
}

// Λ(due of n) = n within the rounding of a nanosecond, for every uniform profile.
func TestUniformLaw(t *testing.T) {
	eachSpec(t, func(t *testing.T, s Spec) {
		s.Poisson, s.Gamma, s.Like = false, 0, nil
		dues := all(t, s, 1<<20)
		for n, due := range dues {
			if got := cumulative(s, due); math.Abs(got-float64(n)) > 400e-9+1e-9 {
				t.Errorf("Λ(%d) = %.12f, want %d", due, got, n)
				return
			}
		}
		if s.Limit == 0 {
			if want := cumulative(s, math.MaxInt64); math.Abs(float64(len(dues))-math.Ceil(want-1e-9)) > 0 {
				t.Errorf("%d operations, want ⌈%v⌉", len(dues), want)
			}
		}
	})
}

// Where operations are as dense as the clock's nanoseconds, rounding can neither
// turn their order nor move them to the end of their stage or of the schedule.
func TestDense(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := Spec{Poisson: seed%2 == 0, Seed: seed, Limit: r.Uint64N(60)}
		if seed%8 == 1 {
			s.Gamma = 3
		} else if seed%8 == 3 {
			s.Like = patternOf(bursts(r, 20)...)
		}
		for range 1 + r.IntN(3) {
			s.Stages = append(s.Stages, Stage{time.Duration(1 + r.IntN(30)), MaxRate * r.Float64(), MaxRate * r.Float64()})
		}
		if seed%3 == 0 {
			s.Warmup = time.Duration(r.IntN(9))
		}
		dues, end := all(t, s, 1<<20), open(t, s).End()
		if !slices.IsSorted(dues) || len(dues) > 0 && (dues[0] < 0 || dues[len(dues)-1] >= end) {
			t.Fatalf("seed %d: %+v: due at %d, end %d", seed, s, dues, end)
		}
	}
}

// After 50 days of nearly an operation a nanosecond float64 steps are larger than
// the gaps, and the formula of a ramp alone would step back.
func TestOrderInLongRamps(t *testing.T) {
	for _, s := range []Spec{Ramp(9e8, 1e9, 1e7*time.Second), Ramp(1e9, 9e8, 1e7*time.Second), Ramp(1, 1e9, 1e7*time.Second)} {
		u := open(t, s).(*uniform)
		p, err := newPlan(s)
		if err != nil {
			t.Fatal(err)
		}
		p.drawn = true
		v := newDrawn(p)
		u.n, v.x = 4e15, 4e15
		for range 100_000 {
			a, b := u.last, v.last
			u.Next()
			v.Next()
			if u.last < a || v.last < b {
				t.Fatalf("%v: %d after %d, %d after %d", s.Stages, u.last, a, v.last, b)
			}
		}
	}
}

// ops takes everything that src has.
func ops(src takt.Source) []takt.Op {
	var out []takt.Op
	for op := (takt.Op{}); src.Next(&op); {
		out = append(out, op)
	}
	return out
}

// The parts of a split are the whole, with Seq and Due untouched, for every n,
// and splitting a part again is no different. Each part can count.
func TestSplitRecombines(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	eachSpec(t, func(t *testing.T, s Spec) {
		whole := ops(source1(t, s))
		n, m := 1+r.Uint64N(9), 1+r.Uint64N(3)
		var union []takt.Op
		at := time.Duration(r.Int64N(5e9))
		var before uint64
		for k := range n {
			s.Shard, s.Shards = k, n
			for j := range m {
				part := Split(source1(t, s), j, m)
				before += part.(takt.Counter).DueBefore(at)
				for i, op := range ops(part) {
					if want := k + n*(j+m*uint64(i)); op.Seq != want {
						t.Errorf("operation %d of part %d/%d of %d/%d is number %d, want %d", i, j, m, k, n, op.Seq, want)
					}
					union = append(union, op)
				}
			}
		}
		slices.SortFunc(union, func(a, b takt.Op) int { return int(a.Seq) - int(b.Seq) })
		if !slices.Equal(union, whole) {
			t.Errorf("%d×%d parts make %d operations, the whole has %d", n, m, len(union), len(whole))
		}
		if want := countBefore(whole, at); before != want {
			t.Errorf("the parts count %d before %v, want %d", before, at, want)
		}
	})
}

func source1(t testing.TB, s Spec) takt.Source {
	t.Helper()
	src, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func countBefore(list []takt.Op, t time.Duration) (n uint64) {
	for _, op := range list {
		if op.Due < t {
			n++
		}
	}
	return n
}

// DueBefore agrees with the operations, consumes none, and may run beside Next.
func TestDueBefore(t *testing.T) {
	eachSpec(t, func(t *testing.T, s Spec) {
		src := source1(t, s).(takt.Counter)
		want := ops(source1(t, s))
		var got []takt.Op
		var wg sync.WaitGroup
		wg.Go(func() { got = ops(src) })
		for at := time.Duration(0); at < 5*time.Second; at += 313 * time.Millisecond {
			if n := src.DueBefore(at); n != countBefore(want, at) {
				t.Errorf("%d before %v, want %d", n, at, countBefore(want, at))
			}
		}
		wg.Wait()
		if !slices.Equal(got, want) {
			t.Error("counting changed the operations")
		}
	})
}

// list is a Source of its own kind: no Counter, with Data.
type list struct{ ops []takt.Op }

func (l *list) End() time.Duration { return 42 }

func (l *list) Next(op *takt.Op) bool {
	if len(l.ops) == 0 {
		return false
	}
	*op, l.ops = l.ops[0], l.ops[1:]
	return true
}

func TestSplitOfAnySource(t *testing.T) {
	src := func() takt.Source {
		return &list{[]takt.Op{{Seq: 10, Data: "a"}, {Seq: 11, Data: "b"}, {Seq: 12, Data: "c"}}}
	}
	part := Split(src(), 1, 2)
	if _, ok := part.(takt.Counter); ok {
		t.Error("counts, though its source cannot")
	}
	if part.End() != 42 {
		t.Error("another end")
	}
	if got := ops(part); len(got) != 1 || got[0].Data != "b" || got[0].Seq != 11 {
		t.Errorf("got %v", got)
	}
	if got := ops(Split(src(), 3, 5)); got != nil {
		t.Errorf("part 3 of 3 operations: %v", got)
	}
	for _, n := range []uint64{0, 1} {
		if got := ops(Split(src(), 0, n)); len(got) != 3 {
			t.Errorf("split in %d: %v", n, got)
		}
	}
}

func TestSplitIntoOne(t *testing.T) {
	src := source1(t, Constant(1, time.Second))
	for _, n := range []uint64{0, 1} {
		if got := Split(src, 0, n); got != src {
			t.Errorf("split into %d: %T", n, got)
		}
	}
}

func TestClosedLoopCannotCount(t *testing.T) {
	s := Spec{Stages: Constant(math.Inf(1), 0).Stages, Limit: 5}
	if _, ok := source1(t, s).(takt.Counter); ok {
		t.Error("a closed loop is a Counter")
	}
	if got := ops(Split(source1(t, s), 1, 2)); len(got) != 2 || got[1].Seq != 3 || got[1].Due != takt.Asap {
		t.Errorf("got %v", got)
	}
}

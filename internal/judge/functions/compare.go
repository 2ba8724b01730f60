package functions

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
)

// Result is what the profiles of both sides say. All times are CPU time of one operation.
type Result struct {
	Pairs      int        `json:"pairs"`
	Confidence float64    `json:"confidence"` // of all words together
	Seconds    [2]float64 `json:"cpu_s"`      // CPU time of base and head in the profiles
	Functions  []Function `json:"functions"`  // slower ones first, then faster ones, then the others by their time
	Others     int        `json:"others"`     // functions that are left out, because each has less than Least of the time
	Stacks     Stacks     `json:"-"`          // mean CPU time of an operation by stack, µs
}

// Least is the least share of the time of a function that is compared, in the profiles of both sides together: with
// fewer samples nothing can be proven, and each function makes the intervals of the others wider.
const Least = 0.005

// Word is what is proven of a function.
type Word string

// The words.
const (
	Slower   Word = "slower"
	Faster   Word = "faster"
	Unproven Word = ""
)

// Function is one function, with the standard library that it calls.
type Function struct {
	Name       string   `json:"name"`
	Base       float64  `json:"base_us"` // mean, µs
	Head       float64  `json:"head_us"`
	BaseShare  float64  `json:"base_share"` // of all time of base
	HeadShare  float64  `json:"head_share"`
	Difference float64  `json:"difference_us"` // Hodges–Lehmann's centre of the differences of pairs
	Low        *float64 `json:"low_us"`        // nil: too few pairs for a bound
	High       *float64 `json:"high_us"`
	Level      float64  `json:"interval_confidence"` // of the interval from Low to High, after Holm
	Word       Word     `json:"word,omitempty"`
	Touched    bool     `json:"touched,omitempty"` // lines of it differ between the commits

	places [2]place // in base and head; none of Go, whose functions have no other name than theirs
}

// Compare compares the profiles of pairs of runs. With the probability confidence, no slower or faster is said of a
// function whose time is the same on both sides.
func Compare(base, head []*Run, confidence float64) (Result, error) {
	r := Result{Pairs: len(base), Confidence: confidence}
	times, total := map[string][2]float64{}, 0.0
	for side, runs := range [2][]*Run{base, head} {
		for _, run := range runs {
			for name, ns := range run.Nanos {
				t := times[name]
				t[side] += float64(ns)
				times[name] = t
				r.Seconds[side] += float64(ns) / 1e9
				total += float64(ns)
			}
			r.Stacks.merge(&run.Stacks, side, 1/(1e3*max(1, run.Requests)*float64(len(runs))))
		}
		if r.Seconds[side] == 0 {
			return r, fmt.Errorf("the profiles of %s have no samples; make longer runs, or send more", []string{"base", "head"}[side])
		}
	}
	var p []float64
	var evidence []stats.Paired
	for name, t := range times {
		if t[0]+t[1] < Least*total {
			r.Others++
			continue
		}
		r.Functions = append(r.Functions, Function{Name: name, BaseShare: t[0] / 1e9 / r.Seconds[0], HeadShare: t[1] / 1e9 / r.Seconds[1]})
	}
	slices.SortFunc(r.Functions, func(a, b Function) int { return cmp.Compare(a.Name, b.Name) })
	for i := range r.Functions {
		f := &r.Functions[i]
		d := make(stats.Paired, len(base))
		for k := range base {
			for side, run := range [2]*Run{base[k], head[k]} {
				if at, ok := run.places[f.Name]; ok {
					f.places[side] = place{at.path, f.places[side].over(at.span)}
				}
			}
			x, y := base[k].micros(f.Name), head[k].micros(f.Name)
			f.Base, f.Head, d[k] = f.Base+x/float64(len(base)), f.Head+y/float64(len(base)), y-x
		}
		p, evidence = append(p, d.P(0)), append(evidence, d)
	}
	for i, level := range stats.Holm(p, 1-confidence) {
		r.Functions[i].judge(evidence[i], level)
	}
	slices.SortStableFunc(r.Functions, order)
	return r, nil
}

// micros is the time of a function in one operation, in µs.
func (r *Run) micros(name string) float64 { return float64(r.Nanos[name]) / 1e3 / max(1, r.Requests) }

func (f *Function) judge(d stats.Paired, level float64) {
	low, high := d.Interval(level)
	f.Difference, f.Level = d.Estimate(), 1-level
	if !math.IsInf(low, 0) {
		f.Low = &low
	}
	if !math.IsInf(high, 0) {
		f.High = &high
	}
	switch {
	case low > 0:
		f.Word = Slower
	case high < 0:
		f.Word = Faster
	}
}

// order is that of Result.Functions.
func order(a, b Function) int {
	rank := func(f Function) int { return map[Word]int{Slower: 0, Faster: 1, Unproven: 2}[f.Word] }
	if rank(a) != rank(b) {
		return cmp.Compare(rank(a), rank(b))
	}
	if a.Word != Unproven {
		return cmp.Compare(math.Abs(b.Difference), math.Abs(a.Difference))
	}
	return cmp.Compare(b.Base+b.Head, a.Base+a.Head)
}

// Slowest is the function that needs most more; nil: none is proven slower.
func (r *Result) Slowest() *Function {
	if len(r.Functions) == 0 || r.Functions[0].Word != Slower {
		return nil
	}
	return &r.Functions[0]
}

// Enough is the least number of pairs that can prove something of n functions.
func Enough(n int, confidence float64) int {
	pairs := 1
	for math.Pow(2, float64(1-pairs)) > (1-confidence)/float64(n) {
		pairs++
	}
	return pairs
}

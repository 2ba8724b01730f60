package proof

import (
	"math"

	"github.com/taktload/takt/internal/judge/stats"
)

// Answer is what a sample says about a bound of a figure of the target.
type Answer struct {
	Below, Above bool    // proven: the figure is below the bound, or above it
	Limit        float64 // what is proven, if anything is: the figure is below it, or above it
	Needs        float64 // about so many operations could prove the side on which the figure of the sample is; 0: unknown
}

// far is the bound ÷ slowest operation from which only the number of operations counts, if they depend on one
// another at most by alone: no operation came near the bound.
const (
	far   = 2
	alone = 4
	few   = 10 // operations above a value, at least, whose blocks show their dependence
)

// Percentile says whether the percentile p is below a bound in µs, or above it, with the confidence level. closed
// says that a value at the bound is above it.
func (s *Sample) Percentile(p, bound float64, closed bool, level float64) Answer {
	above := s.beyond(bound, closed)
	t := test{part: above, all: s.n, share: 1 - p, miss: 1 - level, least: leastAlone * s.careful.d, effect: s.bounded(bound)}
	a := t.answer()
	m := t.effect.size(s.n, t.miss)
	switch {
	case a.Below:
		a.Limit = s.value(math.Ceil(upper(m, p, t.miss)*s.n - rounding))
	case a.Above && t.allBeyond():
		a.Limit = s.value(1)
	case a.Above:
		low := solve(0, m*p, func(k float64) bool { return stats.BinomialCDF(k, m, p) > t.miss })
		a.Limit = s.value(math.Floor(min((low+1)/m, p)*s.n + rounding))
	}
	return a
}

// bounded is the effect of dependence for a bound in µs: what chance explains does not count.
func (s *Sample) bounded(bound float64) effect {
	if s.tops[len(s.tops)-1] <= bound/far && s.careful.d <= alone {
		return effect{d: 1, freedom: math.Inf(1)}
	}
	at := binOf(bound)
	if s.like != nil {
		at = binOf(s.like.quantile(1 - s.beyond(bound, false)/s.n))
	}
	e := effectOf(s.counts.above(at))
	for ; e.above < few && at > 0; at-- {
		e = effectOf(s.counts.above(at - 1))
	}
	if e = e.unlessChance(); e.d > s.careful.d {
		return e
	}
	return s.careful
}

// Part is a part of the operations.
type Part int

// The parts.
const (
	Errors Part = iota // failed or unfinished, of those that ended or were cut off
	Failed             // of all that were due, as are the next ones
	Dropped
	Unfinished
	NotOK
	NotGood // not ok, or ended well and did not meet the conditions of the run
)

// Share says whether the share of a part is below a bound of 0 to 1. The sample has so many operations of the part,
// and all.
func (s *Sample) Share(which Part, part, all uint64, bound, level float64) Answer {
	t := s.test(which, part, all, bound, level)
	a := t.answer()
	m := t.effect.size(t.all, t.miss)
	k := t.part * m / t.all
	switch {
	case a.Below:
		a.Limit = t.most()
	case a.Above && t.allBeyond():
		a.Limit = t.miss
	case a.Above:
		a.Limit = solve(0, 1, func(share float64) bool { return stats.BinomialCDF(k-1, m, share) < 1-t.miss })
	}
	return a
}

// test is that of a share.
func (s *Sample) test(which Part, part, all uint64, bound, level float64) test {
	e := effectOf(s.counts.sums(func(b *[columns]uint64) (part, all float64) {
		for _, n := range b[:bins] {
			all += float64(n)
		}
		lost := [...]float64{float64(b[failed]), float64(b[dropped]), float64(b[unfinished])}
		switch which {
		case Errors:
			return lost[0] + lost[2], all
		case NotOK:
			return lost[0] + lost[1] + lost[2], all + lost[1]
		case NotGood:
			return lost[0] + lost[1] + lost[2] + float64(b[missed]), all + lost[1]
		default:
			return lost[which-Failed], all + lost[1]
		}
	})).unlessChance()
	if s.careful.d > max(alone, e.d) {
		e = s.careful
	}
	return test{part: float64(part), all: float64(all), share: bound, miss: 1 - level, least: leastAlone * s.careful.d, effect: e}
}

// Most is the highest share of a part, as Share has it, that the sample does not exclude.
func (s *Sample) Most(which Part, part, all uint64, level float64) float64 {
	if float64(all) < leastAlone*s.careful.d {
		return 1
	}
	t := s.test(which, part, all, 1, level)
	return t.most()
}

// test compares the share of a part with a bound: by Clopper and Pearson (Biometrika 26, 1934), for as many
// operations as are independent.
type test struct {
	part, all float64
	share     float64 // bound
	miss      float64 // probability that a proof is wrong, at most
	least     float64 // operations without which nothing is proven
	effect    effect
}

// most is the highest share that is not excluded.
func (t test) most() float64 {
	m := t.effect.size(t.all, t.miss)
	return solve(0, 1, func(share float64) bool { return stats.BinomialCDF(t.part*m/t.all, m, share) <= t.miss })
}

func (t test) answer() (a Answer) {
	switch {
	case t.all >= t.least:
		a.Below, a.Above = t.of(1)
	case t.allBeyond():
		a.Above = true
	}
	if !a.Below && !a.Above {
		a.Needs = t.needs()
	}
	return a
}

// allBeyond reports whether too few operations to show their dependence prove a breach all the same: all of them are
// in the part, which says enough even if they are as good as one.
func (t test) allBeyond() bool { return t.all < t.least && t.part == t.all && t.share <= t.miss }

// of is the answer if the run was some times as long.
func (t test) of(times float64) (below, above bool) {
	return t.worth(times, t.effect.worth(t.miss))
}

// worth is of, if the run counts as this part of its operations.
func (t test) worth(times, part float64) (below, above bool) {
	m := min(times*t.all*part, times*t.all, mostSize)
	k := t.part / t.all * m
	below = k < m && stats.BinomialCDF(k, m, t.share) <= t.miss
	above = k >= 1 && 1-stats.BinomialCDF(k-1, m, t.share) <= t.miss
	return below, above
}

const (
	mostTimes = 1e5 // how much longer a run may be that would prove something
	needSteps = 24  // exact to a millionth
)

// needs is about how many operations would prove the side on which the sample is, if their share remains; 0: so
// many that nobody waits for them.
func (t test) needs() float64 {
	part := t.effect.worth(t.miss) // takes long
	proves := func(times float64) bool {
		below, above := t.worth(times, part)
		return (below || above) && times*t.all >= t.least
	}
	if !proves(mostTimes) {
		return 0
	}
	return t.all * math.Exp(bisect(0, math.Log(mostTimes), needSteps, func(log float64) bool { return proves(math.Exp(log)) }))
}

// Exceeds reports whether more than a share of operations are in a part, except with the probability miss, if the
// operations are independent.
func Exceeds(part, all, share, miss float64) bool {
	_, above := test{part: part, all: all, share: share, miss: miss, effect: effect{d: 1, freedom: math.Inf(1)}}.of(1)
	return above
}

// Proportion is the exact interval of a share of which k of n independent ones were seen, by Clopper and Pearson.
func Proportion(k, n int, confidence float64) (low, high float64) {
	miss := (1 - confidence) / 2
	low, high = 0, 1
	if k > 0 {
		low = solve(0, 1, func(share float64) bool { return 1-stats.BinomialCDF(float64(k-1), float64(n), share) >= miss })
	}
	if k < n {
		high = solve(0, 1, func(share float64) bool { return stats.BinomialCDF(float64(k), float64(n), share) <= miss })
	}
	return low, high
}

// Package stats has the tests and intervals that verify and capacity conclude with, each with the
// source of its formula.
package stats

import (
	"math"
	"slices"
	"sort"
)

// Shift estimates how far head lies above base, and tests assumptions about it.
type Shift interface {
	// estimate is the estimated shift.
	Estimate() float64
	// p is the smallest alpha for which theta lies outside interval(alpha).
	P(theta float64) float64
	// interval contains the true shift with at least the probability 1 − alpha. Its ends are
	// infinite if there are too few values for that confidence.
	Interval(alpha float64) (low, high float64)
	// least is the smallest p that this number of values can give.
	Least() float64
}

// Paired are differences of pairs. Wilcoxon's signed ranks estimate and test their centre; they assume
// that the differences are symmetric around it.
type Paired []float64

// Estimate is the Hodges–Lehmann estimate: the median of the means of all pairs of differences,
// including each with itself (Hollander et al., 3.2).
func (d Paired) Estimate() float64 { return Median(d.centres()) }

// centres returns the means of all pairs of differences (the Walsh averages), sorted.
func (d Paired) centres() []float64 {
	var c []float64
	for i := range d {
		for _, v := range d[i:] {
			c = append(c, (d[i]+v)/2)
		}
	}
	slices.Sort(c)
	return c
}

// Above is the one-sided p-value of the hypothesis that the centre is at most theta.
func (d Paired) Above(theta float64) float64 {
	ranks, _, minus := d.signed(theta)
	return signTail(ranks, minus)
}

// below is the one-sided p-value of the hypothesis that the centre is at least theta.
func (d Paired) below(theta float64) float64 {
	ranks, plus, _ := d.signed(theta)
	return signTail(ranks, plus)
}

// signed returns the doubled ranks of the distances from theta, and the sums of the ranks of
// differences above and below theta. Differences equal to theta are ranked and then left out (Pratt,
// Journal of the American Statistical Association 54, 1959, 655–667). If they were left out before
// ranking, as Wilcoxon did, a p-value could fall although a difference falls.
func (d Paired) signed(theta float64) (ranks []int, plus, minus int) {
	off, distance, largest := make([]float64, len(d)), make([]float64, len(d)), math.Abs(theta)
	for i, v := range d {
		off[i], largest = v-theta, max(largest, math.Abs(v))
	}
	snap(off, largest)
	for i, v := range off {
		distance[i] = math.Abs(v)
	}
	for i, r := range doubledRanks(distance) {
		switch {
		case off[i] > 0:
			plus += r
		case off[i] < 0:
			minus += r
		default:
			continue
		}
		ranks = append(ranks, r)
	}
	return ranks, plus, minus
}

// P is the two-sided p-value: twice the smaller of above and below.
func (d Paired) P(theta float64) float64 {
	ranks, plus, minus := d.signed(theta)
	return min(1, 2*signTail(ranks, min(plus, minus)))
}

// Least is that of a difference in one direction in every pair.
func (d Paired) Least() float64 { return math.Pow(2, float64(1-len(d))) }

// Interval contains the centre with at least the probability 1 − alpha.
func (d Paired) Interval(alpha float64) (low, high float64) {
	return invert(d.centres(), d.Above, d.below, alpha)
}

// Groups are two groups of values without pairs. The rank-sum test of Wilcoxon, Mann and Whitney
// estimates and tests their shift.
type Groups struct{ Base, Head []float64 }

// Estimate is the Hodges–Lehmann estimate: the median of all differences head − base (Hollander et
// al., 4.2).
func (g Groups) Estimate() float64 { return Median(g.centres()) }

// centres returns all differences head − base, sorted.
func (g Groups) centres() []float64 {
	var c []float64
	for _, b := range g.Base {
		for _, h := range g.Head {
			c = append(c, h-b)
		}
	}
	slices.Sort(c)
	return c
}

// Above is the one-sided p-value of the hypothesis that the shift is at most theta.
func (g Groups) Above(theta float64) float64 { return rankSum(g.Base, g.Head, theta) }

// below is above with all signs reversed.
func (g Groups) below(theta float64) float64 { return rankSum(g.Head, g.Base, -theta) }

// rankSum is the one-sided p-value of the hypothesis that y lies at most theta above x: the
// probability that the rank sum of y is as high, or that of x as low, as it is. It uses the smaller
// group, which has fewer possible sums.
func rankSum(x, y []float64, theta float64) float64 {
	n, largest := len(x)+len(y), math.Abs(theta)
	all := slices.Concat(x, y)
	for i, v := range all {
		largest = max(largest, math.Abs(v))
		if i >= len(x) {
			all[i] = v - theta
		}
	}
	snap(all, largest)
	ranks := doubledRanks(all)
	if len(x) <= len(y) {
		return chooseTail(ranks, len(x), sum(ranks[:len(x)]))
	}
	for i, r := range ranks { // reversed ranks turn a high sum into a low sum
		ranks[i] = 2*(n+1) - r
	}
	return chooseTail(ranks, len(y), sum(ranks[len(x):]))
}

func sum(ranks []int) int {
	var s int
	for _, r := range ranks {
		s += r
	}
	return s
}

// P is the two-sided p-value: twice the smaller of above and below.
func (g Groups) P(theta float64) float64 {
	return min(1, 2*min(g.Above(theta), g.below(theta)))
}

// Least is that of groups which do not overlap.
func (g Groups) Least() float64 {
	return 2 / Choose(len(g.Base)+len(g.Head), len(g.Head))
}

// Interval contains the shift with at least the probability 1 − alpha.
func (g Groups) Interval(alpha float64) (low, high float64) {
	return invert(g.centres(), g.Above, g.below, alpha)
}

// invert returns the ends of the set of shifts that neither test rejects at alpha ÷ 2. The p-values
// change only at the centres, so it tests the centres and one shift between any two of them. Each end
// alone is a one-sided limit with the confidence 1 − alpha ÷ 2. Without ties, the ends are the order
// statistics of the centres in Hollander et al., 3.3 and 4.3.
func invert(centres []float64, above, below func(float64) float64, alpha float64) (low, high float64) {
	last := len(centres) - 1
	width := 1 + centres[last] - centres[0]
	if above(centres[0]-width) > alpha/2 {
		return math.Inf(-1), math.Inf(1)
	}
	at := func(i int) float64 { return (centres[i/2] + centres[(i+1)/2]) / 2 } // on a centre, or between two
	first := sort.Search(2*last, func(i int) bool { return above(at(i)) > alpha/2 })
	end := sort.Search(2*last+1, func(i int) bool { return below(at(i)) <= alpha/2 })
	return centres[first/2], centres[max(end, 1)/2]
}

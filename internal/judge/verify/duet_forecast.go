package verify

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stats"
)

// need is how many slices a conclusion about a metric requires: the number that allows for a difference
// that looks larger than it is, and the number that is likely if the difference stays. The error probability is that of one
// metric at one of duetLooks looks, even if this plan has fewer looks: a repeated duet with a larger
// budget has all of them.
func (d *Duet) need(g gate, have int) need {
	alpha := (1 - d.Options.Confidence) / duetLooks / float64(len(d.Options.Metrics))
	least := leastPairs(alpha)
	se := g.sd / math.Sqrt(float64(have))
	off := math.Abs(g.s.Estimate() - g.bound)
	slices := func(distance, power float64) int {
		if math.IsNaN(distance) || math.IsInf(distance, 0) || distance == 0 {
			return mostNeeded
		}
		ratio := g.sd / distance
		return max(least, byPower(ratio*ratio, alpha, 2, power))
	}
	distance, unknown := cautious(off, se)
	return need{n: slices(distance, surePower), likely: slices(max(off, se), needPower), unknown: unknown && have >= fewSlices}
}

// needed is how many slices a verdict requires. ok requires every metric; regressed requires only the
// clearest of the metrics that seem worse.
func (d *Duet) needed(gates []gate, have int) (all need) {
	var first need
	for _, g := range gates {
		n := d.need(g, have)
		all.n, all.likely, all.unknown = max(all.n, n.n), max(all.likely, n.likely), all.unknown || n.unknown
		if g.s.Estimate() > g.bound && (first.n == 0 || n.n < first.n) {
			first = n
		}
	}
	if first.n > 0 {
		all.unknown = first.unknown
		all.n, all.likely = min(all.n, first.n), min(all.likely, first.likely)
	}
	return all
}

// fewSlices is the least number of slices that shows how much slices vary.
const fewSlices = 5

// forecast says how much load a verdict requires. It is "" before the first look, and while the slices
// cannot tell; later forecasts only narrow the first.
func (d *Duet) forecast(gates []gate, have int) string {
	if have < max(fewSlices, d.Looks[0]) {
		return ""
	}
	need := d.needed(gates, have)
	likely, n := d.lookFor(max(need.likely, have+1)), d.lookFor(max(need.n, have+1))
	if need.unknown || likely >= mostNeeded || !d.said.narrow(likely, n) {
		return ""
	}
	likely, n = d.said.low, d.said.high
	most := d.Looks[len(d.Looks)-1]
	var text string
	switch {
	case n >= mostNeeded:
		text = fmt.Sprintf("likely %v of load is needed, but it may also be more than %v", d.seconds(likely), d.seconds(mostNeeded))
	case n == likely:
		text = fmt.Sprintf("%v of load is needed", d.seconds(n))
	default:
		text = fmt.Sprintf("likely %v of load is needed, perhaps %v", d.seconds(likely), d.seconds(n))
	}
	if likely > most {
		text += ", more than --budget"
	}
	return text
}

// lookFor is the first look with at least n slices, or n if there is none.
func (d *Duet) lookFor(n int) int {
	for _, look := range d.Looks {
		if n <= look {
			return look
		}
	}
	return n
}

// seconds is the load of so many slices, rounded up to whole seconds.
func (d *Duet) seconds(slices int) time.Duration {
	return (d.load(slices) + time.Second - 1).Truncate(time.Second)
}

// stuck names the metrics about which the whole budget would most probably not conclude either, if
// they keep the duet from a verdict; "": go on. As with pairs, it assumes that the true difference is
// at the favourable end of its 70 % interval.
func (d *Duet) stuck(gates []gate, have int) string {
	most := d.Looks[len(d.Looks)-1]
	z := stats.NormalQuantile(1 - d.share()/2)
	var names []string
	for _, g := range gates {
		if g.muddled {
			names = append(names, g.Metric)
			continue
		}
		if g.mayEnd(have, most, z, 1) {
			return ""
		}
		if !g.mayEnd(have, most, z, -1) {
			names = append(names, g.Metric)
		}
	}
	return strings.Join(names, ", ")
}

// mayEnd reports whether, with most slices, the metric may still be proved to lie above the tolerance,
// or below it if way is −1. The final estimate is the weighted mean of the present estimate and that
// of the missing slices.
func (g *gate) mayEnd(have, most int, z, way float64) bool {
	if !(g.sd > 0) || math.IsInf(g.sd, 1) { // nothing varies, or the spread is not known
		return true
	}
	n, m := float64(have), float64(most)
	now := way * (g.s.Estimate() - g.bound)
	best := now + stats.NormalQuantile(1-futileDoubt/2)*g.sd/math.Sqrt(n)
	then := n/m*now + (1-n/m)*best
	moves := g.sd * math.Sqrt(m-n) / m
	return stats.NormalCDF((then-z*g.sd/math.Sqrt(m))/moves) >= futileChance
}

// mostOverlapped is the largest share of operations, due while the other side was still busy, that
// needs no advice.
const mostOverlapped = 0.1

// advice says what the duet found, and what to do.
func (d *Duet) advice(c *Comparison, head string) []string {
	list := append([]string{}, outperforms(c, head)...)
	if n := neededOf(c); n > 0 {
		names := namesOf(c, func(f Finding) bool { return f.Needed > 0 })
		switch {
		case unknownOf(c):
			list = append(list, fmt.Sprintf("%s: this load cannot tell how much is needed, and it may be more than %v; quieten the machine, raise the rate, gate a lower percentile, or raise the tolerance", names, d.seconds(n)))
		case n >= mostNeeded:
			list = append(list, names+": no reasonable time would be enough, because the slices vary too much or the change is too near the tolerance; quieten the machine, raise the rate, gate a lower percentile, or raise the tolerance")
		default:
			list = append(list, fmt.Sprintf("%s: perhaps %v of load is needed; repeat with --budget %v, which ends earlier when it can", names, d.seconds(n), d.seconds(n)))
		}
	}
	return append(list, d.counts.advice()...)
}

func (c DuetCounts) advice() (list []string) {
	if c.LatePairs > 0 {
		list = append(list, fmt.Sprintf("%s left out of %d, since the generator was late in a block of base (%d) or of head (%d)",
			count(c.LatePairs, "pair of blocks was", "pairs of blocks were"), c.LatePairs+c.Pairs+c.EmptyPairs, c.LateBase, c.LateHead))
		if side := c.only.oneSided(); side != "" {
			list = append(list, "chance does not explain why the generator was late mostly in blocks of "+side+": this side disturbs it, and the blocks that count may flatter this side")
		}
	}
	if n := c.BadBase + c.BadHead; n > 0 {
		list = append(list, fmt.Sprintf("%s left out, since a run was invalid: base %d, head %d", count(n, "round was", "rounds were"), c.BadBase, c.BadHead))
	}
	if c.EmptyPairs > 0 {
		list = append(list, fmt.Sprintf("%s left out, since no answer came to a block; raise --block", count(c.EmptyPairs, "pair of blocks was", "pairs of blocks were")))
	}
	if share := float64(c.Overlapped) / math.Max(1, float64(c.Operations)); share > mostOverlapped {
		list = append(list, fmt.Sprintf("%.0f %% of the operations began while the other side was still busy, which makes a difference look smaller; raise --block, lower the rate, or use --pairs", 100*share))
	}
	return list
}

// GiveUp says why the duet ends without a judgement; "": it goes on. spent is the load of all rounds
// so far.
func (d *Duet) GiveUp(spent time.Duration) string {
	c := d.counts
	all := c.Pairs + c.LatePairs + c.EmptyPairs
	if spent < 6*sliceLength || float64(c.Pairs) >= fewestKept*float64(all) {
		return ""
	}
	return fmt.Sprintf("the generator was late in %d of %d pairs of blocks (base %d, head %d), so the load is too much for this machine: lower the rate, or free the machine", c.LatePairs, all, c.LateBase, c.LateHead)
}

// fewestKept is the least share of pairs of blocks that must count.
const fewestKept = 0.1

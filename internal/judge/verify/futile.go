package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
)

const (
	futileChance = 0.1 // a series ends if a conclusion is less likely
	futileDoubt  = 0.3 // the true difference is assumed in the interval with the confidence 1 − futileDoubt
	futileTrials = 200 // simulations
)

// stuck names the metrics that would most probably stay inconclusive after all pairs. It returns none
// if any metric may still become regressed, because that would be a verdict. Giving up is not a
// conclusion, so it costs power, but causes no false alarm.
func (p Pairs) stuck(base, head []stored.Run) (names []string) {
	most := p.Looks[len(p.Looks)-1]
	for _, g := range p.gates(base, head) {
		d, ok := g.s.(stats.Paired)
		if !ok || mayLieAbove(d, g.bound, most, p.share()) {
			return nil
		}
		if !mayLieAbove(turned(d), -g.bound, most, p.share()) {
			names = append(names, g.Metric)
		}
	}
	return names
}

// turned returns the differences with all signs reversed.
func turned(d stats.Paired) stats.Paired {
	t := make(stats.Paired, len(d))
	for i, v := range d {
		t[i] = -v
	}
	return t
}

// mayLieAbove reports whether most differences may prove, at the level alpha, that their centre lies
// above theta. It simulates the test itself: missing differences are drawn from the existing ones,
// moved to the upper end of the interval of their centre. The seed is fixed.
func mayLieAbove(d stats.Paired, theta float64, most int, alpha float64) bool {
	_, high := d.Interval(futileDoubt)
	if math.IsInf(high, 1) {
		return true
	}
	move := high - d.Estimate()
	r := rand.New(rand.NewPCG(uint64(len(d)), 2))
	all := make(stats.Paired, most)
	copy(all, d)
	for found, trial := 0, 0; trial < futileTrials; trial++ {
		for i := len(d); i < most; i++ {
			all[i] = d[r.IntN(len(d))] + move
		}
		if all.Above(theta) <= alpha/2 {
			if found++; float64(found) >= futileChance*futileTrials {
				return true
			}
		}
	}
	return false
}

// futility says why a series ends early.
func (p Pairs) futility(pairs int, stuck []string) string {
	return fmt.Sprintf("ended after %s, because even the %d of --max-pairs would most probably not conclude about %s",
		count(pairs, "pair", "pairs"), p.Looks[len(p.Looks)-1], strings.Join(stuck, ", "))
}

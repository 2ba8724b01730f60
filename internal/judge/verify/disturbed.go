package verify

import (
	"fmt"
	"math"
	"time"

	"github.com/taktload/takt/internal/judge/stats"
)

// disturbedPerPair is how many disturbed pairs are replaced by default, per pair of the series. A
// machine that disturbs half of all pairs exceeds it in 1 of 1000 series of 8 pairs.
const disturbedPerPair = 3

// mostHopeless is the number of pairs after which a series ends if all of them were disturbed. A machine
// that disturbs half of all pairs ends 2 of 100 series in this way.
const mostHopeless = 6

// Disturbed counts the pairs of a series that had an invalid run, by the side of that run.
type Disturbed struct {
	Base int `json:"base"`
	Head int `json:"head"`
	Most int `json:"most"` // largest number of replaced pairs; 0 with a budget unless the user sets it

	// BudgetS is the time budget of the series in seconds; 0: none. With a budget, Most is a bound
	// only if it is not 0.
	BudgetS float64 `json:"budget_s,omitempty"`
}

// timed reports whether the budget alone bounds the replacements.
func (d Disturbed) timed() bool { return d.BudgetS > 0 && d.Most == 0 }

// MayDisturb is how many disturbed pairs a series of pairs replaces by default.
func MayDisturb(pairs int) int { return disturbedPerPair * pairs }

// Total is how many pairs were disturbed.
func (d Disturbed) Total() int { return d.Base + d.Head }

// hopelessShare is the share of a budget that a series without a good pair may use, so that a machine
// that is busy for one minute does not end a series of ten minutes.
const hopelessShare = 0.25

// GiveUp says why no more pairs are replaced; "": the next one is replaced, too. fit is the number of
// undisturbed pairs, used the seconds since the start of the series.
func (d Disturbed) GiveUp(fit int, used float64) string {
	switch {
	case fit == 0 && d.Total() >= mostHopeless && used >= hopelessShare*d.BudgetS:
		return fmt.Sprintf("all of the first %d pairs were disturbed (base %d, head %d), so the load itself is too much for this machine: lower the rate, or free the machine", d.Total(), d.Base, d.Head)
	case d.Total() > d.Most && !d.timed():
		return fmt.Sprintf("%s disturbed (base %d, head %d) beside %d good ones, and at most %d are replaced: quieten the machine, lower the rate, or raise --max-disturbed", count(d.Total(), "pair was", "pairs were"), d.Base, d.Head, fit, d.Most)
	}
	return ""
}

// advice says how many pairs were disturbed, and names a side if chance does not explain its share.
func (d Disturbed) advice() (list []string) {
	if d.Total() == 0 {
		return nil
	}
	text := fmt.Sprintf("%s disturbed, since a run was invalid: base %d, head %d", count(d.Total(), "pair was", "pairs were"), d.Base, d.Head)
	if d.timed() {
		text += fmt.Sprintf("; they are replaced within the budget of %v", time.Duration(d.BudgetS*float64(time.Second)))
	} else {
		text += fmt.Sprintf("; at most %d are replaced", d.Most)
	}
	list = append(list, text)
	if side := d.oneSided(); side != "" {
		list = append(list, "chance does not explain why nearly all invalid runs are of "+side+": it disturbs the generator, and the pairs that were kept may flatter it")
	}
	return list
}

// oneSided is the side with more invalid runs than chance explains, by the sign test at 5 %; "": there
// is none.
func (d Disturbed) oneSided() string {
	n := float64(d.Total())
	tail := stats.NormalCDF((2*float64(min(d.Base, d.Head)) + 1 - n) / math.Sqrt(n))
	if d.Total() <= stats.MaxSigned { // far above it, the powers overflow
		tail = 0
		for i := range min(d.Base, d.Head) + 1 {
			tail += stats.Choose(d.Total(), i) / math.Pow(2, n)
		}
	}
	switch {
	case 2*tail > 0.05:
		return ""
	case d.Base > d.Head:
		return "base"
	}
	return "head"
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
)

// advise sets what inconclusive findings need, and writes what was found and what to do.
func advise(j *Judgement, gates []gate) {
	alpha := (1 - j.Confidence) / float64(len(gates))
	j.Advice = []string{}
	more := 0 // additional runs of the head
	var few []string
	for i := range j.Comparisons {
		c := &j.Comparisons[i]
		j.Advice = append(j.Advice, outperforms(c, j.Head.Name)...)
		have := min(len(c.Base.Runs), len(j.Head.Runs))
		clearly := fill(c, gates[i*len(c.Findings):], have, alpha)
		if n := leastOf(c); n > 0 && few == nil {
			few = []string{tooFew(c, have, n, len(gates), j.Confidence, clearly)}
		}
		if c.Method != Paired {
			more = max(more, neededOf(c)-len(j.Head.Runs))
			if k := neededOf(c) - len(c.Base.Runs); k > 0 && c.Method == Unpaired {
				j.Advice = append(j.Advice, moreRuns(k, c.Base.Name))
			}
		} else if neededOf(c) > 0 {
			j.Advice = append(j.Advice, morePairs(c))
		}
	}
	if more > 0 {
		j.Advice = append(j.Advice, moreRuns(more, j.Head.Name))
	}
	j.Advice = append(append([]string{}, few...), j.Advice...)
	for i := range j.Comparisons {
		j.Advice = append(j.Advice, opposed(&j.Comparisons[i])...)
	}
}

// fill sets what the inconclusive findings of c need. clearly are the metrics with a difference so
// large that the least number is enough.
func fill(c *Comparison, gates []gate, have int, alpha float64) (clearly []string) {
	for k := range c.Findings {
		f, g := &c.Findings[k], &gates[k]
		if f.Verdict != Inconclusive || g.muddled {
			continue
		}
		need := g.need(have, c.Method, alpha)
		f.Needed, f.Least, f.Unknown = max(have+1, need.n), need.least, need.unknown // have did not suffice
		if need.clear {
			clearly = append(clearly, f.Metric)
		}
	}
	return clearly
}

// leastOf is the least number that can prove anything, if a finding has too few runs for that; 0: none
// has.
func leastOf(c *Comparison) int {
	for _, f := range c.Findings {
		if f.Least {
			return f.Needed
		}
	}
	return 0
}

// tooFew says that there are too few runs to prove anything.
func tooFew(c *Comparison, have, least, words int, confidence float64, clearly []string) string {
	noun, each := "pair", ""
	if c.Method != Paired {
		noun, each = "run", " of each side"
	}
	s := fmt.Sprintf("%s%s can prove nothing about %s at a confidence of %s %%: %d are the least that can",
		count(have, noun, noun+"s"), each, count(words, "metric", "metrics"), stored.Decimal(confidence*100), least)
	if clearly != nil {
		s += fmt.Sprintf(", and enough for a difference as large as that of %s so far", strings.Join(clearly, ", "))
	}
	return s
}

func moreRuns(k int, name string) string {
	if k >= mostNeeded/2 {
		return "runs of " + name + ": they vary too much, or the change is too near the tolerance; quieten the machine, make longer runs, or compare in pairs"
	}
	noun := "runs"
	if k == 1 {
		noun = "run"
	}
	return fmt.Sprintf("%d more %s of %s: repeat its command with --repeat %d", k, noun, name, k)
}

func morePairs(c *Comparison) string {
	names, n := namesOf(c, func(f Finding) bool { return f.Needed > 0 }), neededOf(c)
	if unknownOf(c) {
		return fmt.Sprintf("%s: these pairs cannot tell how many are needed, and it may be more than %d; quieten the machine, make longer runs, or raise the tolerance; --pairs auto --max-pairs %d gives up early if it is in vain", names, n, n)
	}
	if n >= mostNeeded {
		return names + ": not even 999 pairs would be enough, because they vary too much or the change is too near the tolerance; quieten the machine, make longer runs, or raise the tolerance"
	}
	if leastOf(c) == n {
		return fmt.Sprintf("%s: repeat with --pairs %d", names, n)
	}
	return fmt.Sprintf("%s: perhaps %d pairs are needed; repeat with --pairs %d, or with --pairs auto --max-pairs %d, which ends earlier when it can", names, n, n, n)
}

// neededOf is the largest Needed of the findings of c.
func neededOf(c *Comparison) int {
	n := 0
	for _, f := range c.Findings {
		n = max(n, f.Needed)
	}
	return n
}

// unknownOf reports whether it cannot be told how many pairs or slices some finding of c needs.
func unknownOf(c *Comparison) bool {
	return slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Unknown })
}

// namesOf lists the metrics of the findings for which such is true.
func namesOf(c *Comparison, such func(Finding) bool) string {
	var names []string
	for _, f := range c.Findings {
		if such(f) {
			names = append(names, f.Metric)
		}
	}
	return strings.Join(names, ", ")
}

// outperforms names the metrics that are worse in head; nil: none is.
func outperforms(c *Comparison, head string) []string {
	if c.Verdict != Regressed {
		return nil
	}
	return []string{fmt.Sprintf("%s outperforms %s: %s", stored.ShortRevision(c.Base.Name), stored.ShortRevision(head), namesOf(c, func(f Finding) bool { return f.Verdict == Regressed }))}
}

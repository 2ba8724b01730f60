package verifycmd

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/bisect"
	"github.com/taktload/takt/internal/judge/verify"
)

// leastChance is that of a commit that is named although the search has not found the first worse one.
const leastChance = 0.05

func (h *hunt) culprit(metric string, s *bisect.Search, pairs int) verify.Culprit {
	first, last, chance := s.Found()
	c := verify.Culprit{Metric: metric, Chance: chance, Pairs: pairs, Found: chance >= h.verifyCommand.options.Confidence}
	var at []int
	for i := first; i <= last; i++ {
		at = append(at, i)
	}
	if !c.Found {
		at = s.Likely(min(leastChance, chance/2))
		c.Chance = 0
	}
	chances := s.Chances()
	for _, i := range at {
		if !c.Found {
			c.Chance += chances[i]
		}
		c.Commits = append(c.Commits, verify.Suspect{Commit: told(h.history[i]), Chance: chances[i], Pairs: s.Pairs(i), Skipped: h.skipped[i], Merge: h.history[i].Merge})
	}
	return c
}

// together has metrics with the same commit as one, with the least of their probabilities.
func together(list []verify.Culprit) (all []verify.Culprit) {
	for _, c := range list {
		k := slices.IndexFunc(all, func(o verify.Culprit) bool {
			return o.Found && c.Found && slices.EqualFunc(o.Commits, c.Commits, func(a, b verify.Suspect) bool { return a.Hash == b.Hash })
		})
		if k < 0 {
			all = append(all, c)
			continue
		}
		all[k].Metric, all[k].Chance = all[k].Metric+", "+c.Metric, min(all[k].Chance, c.Chance)
	}
	return all
}

// mostNamed is the number of likely commits in a sentence.
const mostNamed = 5

// sentence says what a search has found. ended: it ended early, for another reason than its limits.
// limit says how to lift the limit.
func sentence(c verify.Culprit, ended bool, limit string) string {
	last := c.Commits[len(c.Commits)-1]
	switch {
	case !c.Found:
		if ended {
			return fmt.Sprintf("%s: ended after %s; the first worse commit is one of %s, with a probability of %s: %s", c.Metric, pairsOf(c.Pairs), commitsOf(len(c.Commits)), surely(c.Chance), likeliest(c.Commits))
		}
		return fmt.Sprintf("%s: the first worse commit was not found with %s; most likely: %s; %s, or make longer runs", c.Metric, pairsOf(c.Pairs), likeliest(c.Commits), limit)
	case len(c.Commits) > 1:
		var list []string
		for _, s := range c.Commits[:len(c.Commits)-1] {
			list = append(list, named(s.Commit))
		}
		return fmt.Sprintf("%s: the first worse commit is %s, or one before it that could not be compared: %s; with a probability of %s", c.Metric, named(last.Commit), strings.Join(list, ", "), surely(c.Chance))
	}
	text := fmt.Sprintf("%s: the first worse commit is %s, with a probability of %s", c.Metric, named(last.Commit), surely(c.Chance))
	if last.Merge {
		text += fmt.Sprintf("; the commit is a merge, and --git %.10s^1..%.10s^2 --bisect looks into it", last.Hash, last.Hash)
	}
	return text
}

// likeliest names the likeliest of commits.
func likeliest(commits []verify.Suspect) string {
	var list []string
	likely := slices.Clone(commits)
	slices.SortStableFunc(likely, func(a, b verify.Suspect) int { return cmp.Compare(b.Chance, a.Chance) })
	for _, s := range likely[:min(mostNamed, len(likely))] {
		list = append(list, fmt.Sprintf("%s (%.0f %%)", named(s.Commit), 100*s.Chance))
	}
	if more := len(likely) - mostNamed; more > 0 {
		list = append(list, commitsOf(more)+" more")
	}
	return strings.Join(list, ", ")
}

func named(c verify.Commit) string { return fmt.Sprintf("%.10s (%s)", c.Hash, c.Subject) }

// surely is a probability, rounded down: 99.96 % is not 100 %.
func surely(p float64) string { return fmt.Sprintf("%.4g %%", math.Floor(p*1000)/10) }

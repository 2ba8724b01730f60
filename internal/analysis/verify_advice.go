package analysis

import (
	"fmt"
	"strings"
)

// advise fills in what inconclusive findings need, and writes what was found out and what
// to do.
func advise(j *Judgement, gates []gate) {
	alpha := (1 - j.Confidence) / float64(len(gates))
	j.Advice = []string{}
	more, most := 0, 0 // runs of the head
	for i := range j.Comparisons {
		c := &j.Comparisons[i]
		if c.Verdict == Regressed {
			j.Advice = append(j.Advice, fmt.Sprintf("%s outperforms %s: %s", runsOf(c.Base), runsOf(j.Head), namesOf(c, func(f Finding) bool { return f.Verdict == Regressed })))
		}
		of := gates[i*len(c.Findings):]
		for k := range c.Findings {
			if f := &c.Findings[k]; f.Verdict == Inconclusive && !of[k].muddled {
				have := min(len(c.Base.Runs), len(j.Head.Runs))
				f.Needed = max(have+1, of[k].need(have, c.Method, alpha)) // those that there are did not suffice
				most = max(most, f.Needed)
			}
		}
		if c.Method != Paired {
			more = max(more, neededOf(c)-len(j.Head.Runs))
			if k := neededOf(c) - len(c.Base.Runs); k > 0 && c.Method == Unpaired {
				j.Advice = append(j.Advice, moreRuns(k, c.Base.Name))
			}
		}
	}
	if more > 0 {
		j.Advice = append(j.Advice, moreRuns(more, j.Head.Name))
	}
	if most > 0 && j.Comparisons[0].Method == Paired {
		j.Advice = append(j.Advice, morePairs(&j.Comparisons[0]))
	}
}

func moreRuns(k int, name string) string {
	if k >= mostNeeded/2 {
		return "runs of " + name + ": they vary too much, or the change lies too near the tolerance; quieten the machine, make longer runs, or compare in pairs"
	}
	noun := "runs"
	if k == 1 {
		noun = "run"
	}
	return fmt.Sprintf("%d more %s of %s: repeat its command with --repeat %d", k, noun, name, k)
}

func morePairs(c *Comparison) string {
	names, n := namesOf(c, func(f Finding) bool { return f.Needed > 0 }), neededOf(c)
	if n >= mostNeeded {
		return names + ": not even 999 pairs would be enough, for they vary too much or the change lies too near the tolerance; quieten the machine, make longer runs, or raise the tolerance"
	}
	return fmt.Sprintf("%s: about %d pairs are needed; repeat with --pairs %d", names, n, n)
}

// neededOf is what the finding of c that needs most needs.
func neededOf(c *Comparison) int {
	n := 0
	for _, f := range c.Findings {
		n = max(n, f.Needed)
	}
	return n
}

// namesOf lists the metrics of such findings.
func namesOf(c *Comparison, such func(Finding) bool) string {
	var names []string
	for _, f := range c.Findings {
		if such(f) {
			names = append(names, f.Metric)
		}
	}
	return strings.Join(names, ", ")
}

// mostIDs is how many runs a sentence names.
const mostIDs = 5

func runsOf(s Side) string {
	ids := s.Runs
	rest := ""
	if len(ids) > mostIDs {
		rest = fmt.Sprintf(" and %d more", len(ids)-mostIDs)
		ids = ids[:mostIDs]
	}
	return fmt.Sprintf("%s (%s%s)", s.Name, strings.Join(ids, ", "), rest)
}

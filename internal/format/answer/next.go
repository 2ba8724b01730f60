package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
)

// following is what to do about a judgement, in one sentence, and the rest of its advice.
func following(j verify.Judgement) (next string, advice []string) {
	switch {
	case j.Answers != nil && j.Answers.Verdict == answers.Differ:
		return answersFirst(j.Answers), j.Advice
	case j.Verdict == verify.Regressed:
		return look(j), j.Advice
	case j.Verdict == verify.OK:
		return dearer(j), j.Advice
	case j.Answers != nil && j.Answers.Verdict == answers.Unproven:
		return "compare the answers again, with more requests: --answers N", j.Advice
	case len(j.Advice) > 0:
		i := 0
		if len(j.Advice) > 1 && slices.ContainsFunc(j.Comparisons, tooFew) {
			i = 1 // the first one says that there are too few, and this one what to do
		}
		return j.Advice[i], slices.Delete(slices.Clone(j.Advice), i, i+1)
	}
	return "make more pairs, or longer runs", nil
}

// tooFew reports whether a comparison has too few runs to prove anything.
func tooFew(c verify.Comparison) bool {
	return slices.ContainsFunc(c.Findings, func(f verify.Finding) bool { return f.Least })
}

// answersFirst is what to do about answers that differ.
func answersFirst(r *answers.Result) string {
	if len(r.Differences) == 0 {
		return "correct the answers of head"
	}
	d := r.Differences[0]
	return fmt.Sprintf("look at %s in the answer to %s; if head may differ there, repeat with --answers-ignore %s, and if not, correct head", d.Path, d.Example.Request, part.CommandLine([]string{d.Path}))
}

// dearer is what to do about a head that is not worse, but may cost more.
func dearer(j verify.Judgement) string {
	var list []string
	for _, c := range j.Comparisons {
		for _, f := range c.Costs {
			if f.Verdict == verify.Regressed {
				list = append(list, f.Metric+" "+difference(f, f.Difference))
			}
		}
	}
	if list == nil {
		return "nothing has to be done"
	}
	return "decide whether these costs matter: " + strings.Join(list, ", ")
}

// look says where to look for what made head worse, or how takt can find it.
func look(j verify.Judgement) string {
	var where []string
	for _, c := range j.Bisect {
		if last := len(c.Commits) - 1; c.Found && last >= 0 {
			if text := commitOf(c.Commits[last].Commit); !strings.Contains(strings.Join(where, " "), text) {
				where = append(where, "commit "+text)
			}
		}
	}
	if j.Functions != nil && j.Functions.Slowest() != nil {
		f := j.Functions.Slowest()
		where = append(where, fmt.Sprintf("function %s, which needs %s more of a request", f.Name, figure.Micros(f.Difference)))
	}
	if where != nil {
		return "look at " + strings.Join(where, ", and at ")
	}
	base := "base"
	if len(j.Comparisons) > 0 {
		base = stored.ShortRevision(j.Comparisons[0].Base.Name)
	}
	text := fmt.Sprintf("look at what changed between %s and %s", base, stored.ShortRevision(j.Head.Name))
	switch {
	case j.Head.Commit == nil:
		return text
	case j.Bisect == nil && j.Functions == nil:
		return text + ", or repeat with --bisect, which finds the commit, and --profile auto or COMMAND, which finds the function"
	case j.Functions == nil:
		return text + ", or repeat with --profile auto or COMMAND, which finds the function"
	}
	return text
}

// commitOf names a commit in a sentence.
func commitOf(c verify.Commit) string {
	return page.Clean(fmt.Sprintf("%.10s (%s)", c.Hash, c.Subject))
}

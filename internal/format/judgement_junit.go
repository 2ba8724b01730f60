package format

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/internal/judge/verify"
)

func judgementJUnit(w io.Writer, j verify.Judgement) error {
	suite := junitSuite{Name: "takt verify " + j.Head.Name}
	if j.Answers != nil {
		suite.addAnswers(j.Answers)
	}
	for _, c := range j.Comparisons {
		for _, f := range c.Findings {
			suite.add(c, f, culprit(j.Bisect, f.Metric))
		}
	}
	return suite.write(w)
}

// add adds a metric: a regression is a failure, an inconclusive result an error, since it may
// be a regression. culprit is what a bisection found.
func (s *junitSuite) add(c verify.Comparison, f verify.Finding, culprit string) {
	one := junitCase{Class: "against " + c.Base.Name, Name: f.Metric}
	said := sentence(f)
	switch f.Verdict {
	case verify.Regressed:
		one.Failure = &junitWhat{string(f.Verdict), said + culprit}
	case verify.Inconclusive:
		one.Error = &junitWhat{string(f.Verdict), said}
	default:
		one.Out = said
	}
	s.count(one)
}

// addAnswers adds a case for the answers of head.
func (s *junitSuite) addAnswers(r *answers.Result) {
	one := junitCase{Class: "answers", Name: "answers", Out: r.Sentence()}
	said := one.Out
	for _, d := range r.Differences {
		said += fmt.Sprintf("; %s: %s in %d", d.Path, d.Kind, d.Requests)
	}
	switch r.Verdict {
	case answers.Differ:
		one.Failure, one.Out = &junitWhat{string(r.Verdict), said}, ""
	case answers.Unproven:
		one.Error, one.Out = &junitWhat{string(r.Verdict), said}, ""
	}
	s.count(one)
}

// culprit is what a bisection found about a metric; "": it did not search.
func culprit(all []verify.Culprit, metric string) string {
	for _, c := range all {
		if c.Metric != metric {
			continue
		}
		var list []string
		for _, s := range c.Commits {
			list = append(list, fmt.Sprintf("%.10s (%s)", s.Hash, s.Subject))
		}
		found := "first worse commit"
		if !c.Found {
			found = "first worse commit not found, likely"
		}
		return fmt.Sprintf("; %s: %s", found, strings.Join(list, ", "))
	}
	return ""
}

// sentence is a finding on one line.
func sentence(f verify.Finding) string {
	c := answer.FindingCells(f)
	return fmt.Sprintf("%s: %s, then %s; difference %s, interval %s at %s: %s", c[0], c[1], c[2], c[3], c[4], c[5], c[6])
}

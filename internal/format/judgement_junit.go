package format

import (
	"fmt"
	"io"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/verify"
)

func judgementJUnit(w io.Writer, j verify.Judgement) error {
	suite := junitSuite{Name: "takt verify " + j.Head.Name}
	for _, c := range j.Comparisons {
		for _, f := range c.Findings {
			suite.add(c, f)
		}
	}
	return suite.write(w)
}

// add adds a metric: a regression is a failure, an inconclusive result an error, since it may
// be a regression.
func (s *junitSuite) add(c verify.Comparison, f verify.Finding) {
	one := junitCase{Class: "against " + c.Base.Name, Name: f.Metric}
	said := sentence(f)
	switch f.Verdict {
	case verify.Regressed:
		one.Failure = &junitWhat{string(f.Verdict), said}
	case verify.Inconclusive:
		one.Error = &junitWhat{string(f.Verdict), said}
	default:
		one.Out = said
	}
	s.count(one)
}

// sentence is a finding on one line.
func sentence(f verify.Finding) string {
	c := answer.FindingCells(f)
	return fmt.Sprintf("%s: %s, then %s; difference %s, interval %s at %s: %s", c[0], c[1], c[2], c[3], c[4], c[5], c[6])
}

package format

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/taktload/takt/internal/analysis"
)

// junitSuite is a test suite of JUnit XML with a case for each metric: one that regressed
// is a failure, an inconclusive one an error, since it is not known to be well.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"` // the base
	Name    string     `xml:"name,attr"`      // the metric
	Failure *junitWhat `xml:"failure"`
	Error   *junitWhat `xml:"error"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitWhat struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
}

func judgementJUnit(w io.Writer, j analysis.Judgement) error {
	suite := junitSuite{Name: "takt verify " + j.Head.Name}
	for _, c := range j.Comparisons {
		for _, f := range c.Findings {
			suite.add(c, f)
		}
	}
	b, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}

func (s *junitSuite) add(c analysis.Comparison, f analysis.Finding) {
	one := junitCase{Class: "against " + c.Base.Name, Name: f.Metric}
	said := sentence(f)
	switch f.Verdict {
	case analysis.Regressed:
		one.Failure = &junitWhat{string(f.Verdict), said}
		s.Failures++
	case analysis.Inconclusive:
		one.Error = &junitWhat{string(f.Verdict), said}
		s.Errors++
	default:
		one.Out = said
	}
	s.Tests++
	s.Cases = append(s.Cases, one)
}

// sentence says a finding on one line.
func sentence(f analysis.Finding) string {
	c := findingCells(f)
	return fmt.Sprintf("%s: %s, then %s; difference %s, interval %s at %s: %s", c[0], c[1], c[2], c[3], c[4], c[5], c[6])
}

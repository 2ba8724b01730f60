package format

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/pkg/takt"
)

// junitSuite is a test suite of JUnit XML.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr,omitempty"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitWhat `xml:"failure"`
	Error   *junitWhat `xml:"error"`
	Skipped *junitWhat `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitWhat struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
}

// count adds a case to the suite and its totals.
func (s *junitSuite) count(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func (s *junitSuite) write(w io.Writer) error {
	b, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}

// writeJUnit writes a test case for the verdict of a run and one for each assertion.
func writeJUnit(w io.Writer, r *takt.Report) error {
	s := &junitSuite{Name: "takt " + page.Clean(r.Kind+" "+report.Target(r))}
	class := "takt " + page.Clean(r.Kind)
	if r.Kind == capacity.Kind {
		c, err := capacityCase(class, r)
		if err != nil {
			return err
		}
		s.count(c)
		return s.write(w)
	}
	s.count(verdictCase(class, r))
	for _, a := range r.Assertions {
		s.count(assertionCase(class, r, a))
	}
	return s.write(w)
}

// verdictCase is an error if the run is inconclusive.
func verdictCase(class string, r *takt.Report) junitCase {
	_, words := report.VerdictWords(r)
	c := junitCase{Class: class, Name: "verdict"}
	switch short := stored.CutShort(r); {
	case r.Verdict == takt.Invalid:
		c.Error = &junitWhat{"invalid", strings.TrimSuffix(words, ".") + doubtsIn(r)}
	case r.Counts.OK == 0:
		c.Failure = &junitWhat{"failed", words + firstError(r)}
	case short != "":
		c.Error = &junitWhat{"incomplete", page.Clean(short)}
	default:
		c.Out = words + doubtsIn(r)
		if said := report.ClaimWords(r); said != "" {
			c.Out = page.Clean(said) + "; " + c.Out
		}
	}
	if stalled := outage.StallSentence(r); stalled != "" {
		c.Out = strings.TrimPrefix(c.Out+"; "+stalled, "; ")
	}
	return c
}

func doubtsIn(r *takt.Report) (list string) {
	for _, w := range r.Warnings {
		list += "; " + page.Clean(w.Message)
	}
	return list
}

func firstError(r *takt.Report) string {
	if len(r.Errors) == 0 {
		return ""
	}
	return "; " + page.Clean(r.Errors[0].Class+": "+r.Errors[0].Sample)
}

// assertionCase is an error if only a void assertion says that the run is inconclusive.
func assertionCase(class string, r *takt.Report, a takt.Assertion) junitCase {
	c := junitCase{Class: class, Name: page.Clean(a.Expression)}
	switch reason := page.Clean(a.Reason); {
	case a.Result == takt.Pass:
		c.Out = reason
	case a.Result == takt.Fail:
		c.Failure = &junitWhat{"assertion", reason}
	case a.Result == takt.Unproven:
		c.Error = &junitWhat{"unproven", reason}
	case a.Result == takt.Void && r.Verdict != takt.Invalid && r.Counts.OK > 0:
		c.Error = &junitWhat{"void", reason}
	default:
		c.Skipped = &junitWhat{Message: reason}
	}
	return c
}

// capacityCase is the test case for the result of takt capacity.
func capacityCase(class string, r *takt.Report) (junitCase, error) {
	a, err := capacity.In(r)
	if err != nil {
		return junitCase{}, err
	}
	c := junitCase{Class: class, Name: page.Clean(a.SLO)}
	words := page.Clean(strings.Join(answer.CapacityWords(a), " "))
	switch {
	case a.Ended == capacity.EndInvalid:
		c.Error = &junitWhat{"invalid", words}
	case a.Sustainable == 0:
		c.Failure = &junitWhat{"slo", words}
	default:
		c.Out = words
	}
	return c, nil
}

// Package audit checks that a report from outside, or an edited one, does not contradict
// itself. Repeated values must be equal, the figures must match the histograms, and the
// verdict must follow from them.
package audit

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// maxFaults is the largest number of faults that are named: a report can have thousands.
const maxFaults = 8

// ContradictionError lists the contradictions in a report, by the names of its fields.
type ContradictionError struct {
	Faults []string // one sentence each, at most 8
	More   int      // number of further faults
}

// Error implements error.
func (e *ContradictionError) Error() string {
	return "the report contradicts itself: " + e.List() + "; take the report as takt wrote it"
}

// List names the faults.
func (e *ContradictionError) List() string {
	list := strings.Join(e.Faults, "; ")
	if e.More > 0 {
		list += fmt.Sprintf("; and %d more", e.More)
	}
	return list
}

// Check returns a *ContradictionError if r contradicts itself. A report that says valid
// although its histograms show a generator bottleneck becomes invalid, with the warning
// rejudged: an older takt may have had another rule.
func Check(r *takt.Report) error {
	c := checker{r: r}
	c.ranges()
	c.counts()
	if c.faults == nil { // otherwise the sums overflow and are wrong
		c.rates()
		c.latencies()
		c.attribution()
		c.intervals()
		c.goodput()
		c.tokens()
		c.serverSeconds()
		c.outages()
		c.ledger()
		c.verdict()
		c.rest()
	}
	if e := c.contradiction(); e != nil {
		return e
	}
	return nil
}

// Interval finds the contradictions of an interval of a run that goes on, and of its failures so far; nil: there are
// none. before is the end of the interval before. answered says that operations have a response time.
func Interval(iv takt.Interval, failures []takt.ErrorClass, before float64, answered bool) *ContradictionError {
	c := checker{r: &takt.Report{Errors: failures}}
	c.classes() // may be more than those of the intervals: operations fail meanwhile
	c.end("t_s", iv.T, before)
	c.interval("interval", iv)
	if c.faults == nil && answered && iv.OK+iv.Failed > c.responses { // it may have more: of operations that were cut off
		c.fault("interval.ok and interval.failed are %d together, but its histogram holds %d response times", iv.OK+iv.Failed, c.responses)
	}
	return c.contradiction()
}

// contradiction is the error with the faults, or nil.
func (c *checker) contradiction() *ContradictionError {
	if c.faults == nil {
		return nil
	}
	kept := c.faults[:min(len(c.faults), maxFaults)]
	return &ContradictionError{kept, c.found - len(kept)}
}

// checker collects the faults of one report.
type checker struct {
	r      *takt.Report
	faults []string // the first maxFaults
	found  int

	reader             reader
	ended, warm        uint64 // ok + failed + unfinished, in the window and in the warm-up
	responses, service uint64 // number of values in the intervals' histograms
}

func (c *checker) fault(format string, args ...any) {
	if c.found++; c.found <= maxFaults {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

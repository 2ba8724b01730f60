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
	list := strings.Join(e.Faults, "; ")
	if e.More > 0 {
		list += fmt.Sprintf("; and %d more", e.More)
	}
	return "the report contradicts itself: " + list + "; take the report as takt wrote it"
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
		c.serverSeconds()
		c.outages()
		c.ledger()
		c.verdict()
	}
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

// Package audit holds a report that comes from outside against itself: a file of
// somebody else, or one that was edited. What a report says twice must be equal, its
// figures must be those of its histograms, and its verdict must follow from them.
package audit

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// maxFaults bounds the faults that are named: a report can have thousands.
const maxFaults = 8

// ContradictionError says what of a report cannot be true, by the names of its fields.
type ContradictionError struct {
	Faults []string // a sentence each, at most 8
	More   int      // beyond those
}

// Error implements error.
func (e *ContradictionError) Error() string {
	list := strings.Join(e.Faults, "; ")
	if e.More > 0 {
		list += fmt.Sprintf("; and %d more", e.More)
	}
	return "the report contradicts itself: " + list + "; take the report as takt wrote it"
}

// Check returns a *ContradictionError if something in r cannot be true. A report that
// calls itself valid though its histograms show a generator that was the bottleneck
// becomes invalid, with the warning rejudged: an older takt may have had another rule.
func Check(r *takt.Report) error {
	c := checker{r: r}
	c.ranges()
	c.counts()
	if c.faults == nil { // else the sums overflow, and are all wrong
		c.rates()
		c.latencies()
		c.attribution()
		c.intervals()
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
	ended, warm        uint64 // ok + failed + unfinished, of the window and of the warm-up
	responses, service uint64 // in the histograms of the intervals
}

func (c *checker) fault(format string, args ...any) {
	if c.found++; c.found <= maxFaults {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

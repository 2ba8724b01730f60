package verify

import (
	"fmt"
	"math"
	"strings"
)

// opposedShare is the share of the default tolerance below which a contradiction between the medians
// and the difference needs no explanation.
const opposedShare = 0.2

// opposed explains why a difference has another sign than the difference of the medians.
func opposed(c *Comparison) []string {
	return opposedOf(c.Findings, c.Method)
}

func opposedOf(findings []Finding, method Method) []string {
	var names []string
	for _, f := range findings {
		if f.opposed() {
			names = append(names, f.Metric)
		}
	}
	why := "every base run with every head run"
	switch {
	case names == nil || method == Prediction:
		return nil
	case method == Paired:
		why = "the two runs of each pair"
	}
	return []string{fmt.Sprintf("%s: the difference has another sign than the difference of the two medians, because it compares %s, and the median of these differences is not the difference of the medians when the runs of one side vary more than the sides differ", strings.Join(names, ", "), why)}
}

func (f *Finding) opposed() bool {
	medians, least := f.Head-f.Base, 0.0
	if !f.Absolute {
		if f.Base == 0 {
			return false
		}
		medians = f.Head/f.Base - 1
		least = opposedShare * DefaultOptions().Tolerance
	}
	return medians*f.Difference < 0 && max(math.Abs(medians), math.Abs(f.Difference)) >= least
}

package verify

import (
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
	why := "the difference and the medians disagree: the runs of one side vary more than the sides differ; trust the difference"
	switch {
	case names == nil || method == Prediction:
		return nil
	case method == Paired:
		why = "pairs and medians disagree: the machine changed between pairs; trust the pairs"
	}
	return []string{strings.Join(names, ", ") + ": " + why}
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

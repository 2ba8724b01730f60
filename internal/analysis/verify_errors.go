package analysis

import (
	"fmt"
	"math"
	"strings"
)

// mostErrors is the share of errors, in percent, above which latencies say too much about
// errors to be judged: p99 can then be that of an error.
const mostErrors = 1

// muddled says why latencies of the two sides cannot be compared, "" if they can. An error
// may be a fast answer, or a slow one, so both sides must have about as many, and few.
func (m match) muddled(base, head string, o Options) string {
	b, _ := meanAndSD(valuesOf(m.base, "errors"))
	h, _ := meanAndSD(valuesOf(m.head, "errors"))
	return muddled(b, h, base, head, o)
}

// muddled is that of match, for the errors of both sides in percent.
func muddled(b, h float64, base, head string, o Options) string {
	if math.Abs(b-h) <= o.ErrorTolerance && max(b, h) <= mostErrors {
		return ""
	}
	return fmt.Sprintf("%s %% of the operations of %s and %s %% of those of %s are errors, which may be fast answers: latencies prove nothing; mend the errors first",
		decimal(b), base, decimal(h), head)
}

// isLatency tells the metrics that errors are part of, or leave to the other operations.
func isLatency(name string) bool {
	of, _ := split(name)
	return of != ""
}

// muddle takes the words from latencies that cannot be compared, and gives a reason for
// each match.
func muddle(gates []gate, matches []match, head string, o Options) (reasons []string) {
	for i, m := range matches {
		n := len(o.Metrics)
		reasons = append(reasons, muddleBy(gates[i*n:(i+1)*n], m.muddled(m.side.Name, head, o))...)
	}
	return reasons
}

// muddleBy is muddle for one match and its reason.
func muddleBy(gates []gate, reason string) []string {
	var names []string
	for k := range gates {
		if g := &gates[k]; reason != "" && isLatency(g.Metric) {
			g.Verdict, g.muddled = Inconclusive, true
			names = append(names, g.Metric)
		}
	}
	if names == nil {
		return nil
	}
	return []string{strings.Join(names, ", ") + ": " + reason}
}

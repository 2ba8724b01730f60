package verify

import (
	"fmt"
	"math"
	"strings"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
)

// mostErrors is the largest share of errors, in percent, with which latencies are judged. With more, the
// p99 can be that of an error.
const mostErrors = 1

// muddled says why latencies of the two sides cannot be compared; "": they can. An error may be a fast
// or a slow answer, so both sides must have few errors, and about equally many.
func (m match) muddled(base, head string, o Options) string {
	b, _ := stats.MeanAndSD(valuesOf(m.base, "errors"))
	h, _ := stats.MeanAndSD(valuesOf(m.head, "errors"))
	return muddled(b, h, base, head, o)
}

// muddled is match.muddled for the errors b of base and h of head, in percent.
func muddled(b, h float64, base, head string, o Options) string {
	if math.Abs(b-h) <= o.ErrorTolerance && max(b, h) <= mostErrors {
		return ""
	}
	return fmt.Sprintf("%s %% of the operations of %s and %s %% of those of %s are errors, which may be fast answers: latencies prove nothing; fix the errors first",
		stored.Decimal(b), base, stored.Decimal(h), head)
}

// isLatency reports whether the metric is a latency, which errors can change.
func isLatency(name string) bool {
	of, _ := stored.SplitName(name)
	return of != ""
}

// muddle makes latencies that cannot be compared inconclusive, and returns a reason for each such
// match.
func muddle(gates []gate, matches []match, head string, o Options) (reasons []string) {
	for i, m := range matches {
		n := len(o.Metrics)
		reasons = append(reasons, muddleBy(gates[i*n:(i+1)*n], m.muddled(m.side.Name, head, o))...)
	}
	return reasons
}

// muddleBy is muddle for the gates of one match; reason "": they can be compared.
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

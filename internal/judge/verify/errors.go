package verify

import (
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
)

// muddled says why latencies of the two sides cannot be compared; "": they can. A load that the user
// lets differ is not a reason.
func (m match) muddled(base, head string, o Options) string {
	b, h := standingOf(m.base), standingOf(m.head)
	if slices.ContainsFunc(o.Lift, stored.IsLoad) {
		b.Load, h.Load = "", ""
	}
	return b.Apart(h, base, head, "p99", o.ErrorTolerance)
}

func standingOf(runs []stored.Run) stored.Standing {
	var all []*stored.Run
	for i := range runs {
		all = append(all, &runs[i])
	}
	return stored.StandingOf(all...)
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
		if g := &gates[k]; reason != "" && stored.IsLatency(g.Metric) {
			g.Verdict, g.muddled = Inconclusive, true
			names = append(names, g.Metric)
		}
	}
	if names == nil {
		return nil
	}
	return []string{strings.Join(names, ", ") + ": " + reason}
}

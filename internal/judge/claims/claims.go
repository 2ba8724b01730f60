// Package claims says in a few sentences what a run supports about its target, and what it does not: that which a
// reader would otherwise conclude from the figures himself.
package claims

import (
	"cmp"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/takt"
)

// Most is the largest number of claims.
const Most = 5

// leastRun is the shortest run whose backlog shows an overload, in seconds.
const leastRun = 3

// Of are the claims of a report, what it supports first; nil: it does not count operations by block, as that of an
// older takt, so nothing follows from it.
func Of(r *takt.Report) []takt.Claim {
	l, name := r.Latency[takt.LatencyResponse], "response time"
	if l.Count == 0 {
		l, name = r.Latency[takt.LatencySend], "send time"
	}
	switch {
	case l.Blocks == nil:
		return nil
	case r.Verdict == takt.Invalid:
		return []takt.Claim{not("anything about the target: takt itself, or its host, shaped the figures")}
	case r.Counts.OK == 0:
		return []takt.Claim{not("how long the target takes: not one operation succeeded")}
	}
	s, err := proof.SampleOf(l)
	if err != nil {
		return nil
	}
	list := speed(r, &l, s, name)
	list = append(list, keptUp(r)...)
	if s != nil {
		c := r.Counts
		ended := c.OK + c.Failed + c.Unfinished
		if most := s.Most(proof.Errors, c.Failed+c.Unfinished, ended, proof.Level); most < 1 {
			list = append(list, takt.Claim{Text: "fewer than " + share(most) + " of the operations fail", Supported: true, Level: proof.Level})
		}
	}
	if lag := r.Latency[takt.LatencyScheduleLag]; lag.Count >= 100 && len(list) < Most-1 {
		list = append(list, takt.Claim{Text: "takt sent 99 % of the operations at most " + figure.Micros(lag.P99) + " late", Supported: true})
	}
	if r.DurationS >= 1 {
		list = append(list, not("what happens less often than once in "+figure.Duration(time.Duration(r.DurationS*float64(time.Second)))+", such as a rare freeze"))
	}
	var sorted []takt.Claim
	for _, supported := range []bool{true, false} {
		for _, c := range list {
			if c.Supported == supported {
				sorted = append(sorted, c)
			}
		}
	}
	return sorted[:min(len(sorted), Most)]
}

func not(text string) takt.Claim { return takt.Claim{Text: text} }

// speed says between what times a percentile is: p99, or the highest one that is known.
func speed(r *takt.Report, l *takt.Latency, s *proof.Sample, name string) (list []takt.Claim) {
	if overload.Of(r) != nil {
		return []takt.Claim{not("a " + name + ": that of an overloaded target grows with the length of the run")}
	}
	shown := proof.Intervals(l)
	for _, p := range []string{"p99", "p90", "p50"} {
		for _, one := range shown {
			switch {
			case one.Name != p:
			case one.Range != nil:
				return append([]takt.Claim{{Text: fmt.Sprintf("%s of the %s is between %s and %s", p, name, figure.Micros(one.Range.Low), figure.Micros(one.Range.High)), Supported: true, Level: l.CI.Level}}, list...)
			case p == "p99":
				list = append(list, not("p99 of the "+name+needs(r, s, one.P)))
			}
		}
	}
	return list
}

// needs says how long a run has to be whose interval of a percentile is known.
func needs(r *takt.Report, s *proof.Sample, p float64) string {
	if s == nil || r.DurationS <= 0 || r.Counts.Scheduled == 0 {
		return ": the run is too short"
	}
	n := proof.Rounded(s.Needs(p, proof.Level))
	return fmt.Sprintf(": it needs about %.0f operations, ", n) + proof.Length(r, proof.Rounded(n/float64(r.Counts.Scheduled)*r.DurationS)) + " at this rate"
}

// keptUp says whether the target did what was due.
func keptUp(r *takt.Report) []takt.Claim {
	if o := overload.Of(r); o != nil {
		return []takt.Claim{{Text: "the target completes " + figure.Near(o.CompletedPerS, o.DuePerS) + "/s, and " + figure.Near(o.DuePerS, o.CompletedPerS) + "/s were due", Supported: true}}
	}
	if r.Rate.Intended == nil || overload.Waits(r.Variables) || r.Latency[takt.LatencyResponse].Count == 0 {
		return nil
	}
	rate := figure.Near(figure.Round(cmp.Or(r.Schedule.RatePerS, *r.Rate.Intended), 3), 0) + "/s"
	if r.DurationS < leastRun {
		return []takt.Claim{not(fmt.Sprintf("that the target keeps up with %s: that shows after %d s at the earliest", rate, leastRun))}
	}
	if overload.OverQuota(r) {
		return []takt.Claim{not("that the brokers keep up with " + rate + ": their quota made takt wait")}
	}
	return []takt.Claim{{Text: "the target kept up with " + rate, Supported: true}}
}

// share is a share of 0 to 1 for people.
func share(v float64) string { return figure.Near(figure.Round(100*v, 2), 0) + " %" }

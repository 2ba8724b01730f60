// Package claims says in a few sentences what a run supports about its target, and what it does not: that which a
// reader would otherwise conclude from the figures himself.
package claims

import (
	"cmp"
	"fmt"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/warn"
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
		list := []takt.Claim{not("how the target behaves (takt itself, or its host, shaped the figures)")}
		if u, ok := stored.UntilOf(r); ok && !u.Reached {
			list = append(list, until(r)...)
		}
		return list
	case r.Counts.OK == 0:
		return []takt.Claim{not("how long the target takes (not one operation succeeded)")}
	}
	s, err := proof.SampleOf(l)
	if err != nil {
		return nil
	}
	list := append(speed(r, &l, s, name), until(r)...)
	list = append(list, keptUp(r, name)...)
	if s != nil {
		c := r.Counts
		ended := c.OK + c.Failed + c.Unfinished
		if most := s.Most(proof.Errors, c.Failed+c.Unfinished, ended, proof.Level); most < 1 {
			text := "fewer than " + share(most) + " of the operations fail"
			did := "none"
			if n := c.Failed + c.Unfinished; n > 0 {
				did = share(float64(n) / float64(ended))
			}
			text += "; " + did + " did"
			list = append(list, takt.Claim{Text: text, Supported: true, Level: proof.Level})
		}
	}
	if lag := r.Latency[takt.LatencyScheduleLag]; lag.Count >= 100 && r.Rate.Intended != nil && len(list) < Most-1 {
		list = append(list, takt.Claim{Text: "takt sent 99 % of the operations within " + figure.Micros(lag.P99) + " of their due time", Supported: true})
	}
	if r.DurationS >= 1 {
		list = append(list, not("what happens less often than once in "+figure.Micros(figure.Round(1e6*r.DurationS, 2))+", such as a rare freeze"))
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
		return []takt.Claim{not("the " + name + " (that of an overloaded target grows with the length of the run)")}
	}
	if overload.Behind(r) {
		return []takt.Claim{not("the " + name + " of a longer run (the target was behind the schedule at its end)")}
	}
	shown := proof.Intervals(l)
	for _, p := range []string{"p99", "p90", "p50"} {
		for _, one := range shown {
			switch {
			case one.Name != p:
			case one.Range != nil:
				return append(list, takt.Claim{Text: "the " + p + " of the " + name + " is " + between(one.Range), Supported: true, Level: l.CI.Level})
			case p == "p99":
				list = append(list, not("how exact the p99 of the "+name+" is ("+needs(r, s, one.P)+")"))
			}
		}
	}
	return list
}

// between is where a percentile is.
func between(v *takt.Range) string {
	low, high := figure.Micros(v.Low), figure.Micros(v.High)
	if low == high {
		return low
	}
	return "between " + low + " and " + high
}

// until says whether --until was reached.
func until(r *takt.Report) []takt.Claim {
	u, ok := stored.UntilOf(r)
	if !ok {
		return nil
	}
	known := "the newest look found " + u.Exact()
	if !u.Reached {
		return []takt.Claim{not(u.Goal + ", the goal of --until (" + known + ")")}
	}
	return []takt.Claim{{Text: u.Goal + ", the goal of --until, is reached: " + known, Supported: true, Level: proof.Level}}
}

// needs says how long a run has to be whose interval of a percentile is known.
func needs(r *takt.Report, s *proof.Sample, p float64) string {
	if s == nil || r.DurationS <= 0 || r.Counts.Scheduled == 0 {
		return "the run is too short"
	}
	n := proof.Rounded(s.Needs(p, proof.Level))
	return fmt.Sprintf("that takes about %.0f operations, ", n) + proof.Length(r, proof.Rounded(n/float64(r.Counts.Scheduled)*r.DurationS)) + " at this rate"
}

// keptUp says whether the target did what was due; name is that of the latency.
func keptUp(r *takt.Report, name string) []takt.Claim {
	if o := overload.Of(r); o != nil {
		return []takt.Claim{{Text: "the target is overloaded: it completes " + figure.Near(o.CompletedPerS, o.DuePerS) + "/s of the " + figure.Near(o.DuePerS, o.CompletedPerS) + "/s that are due", Supported: true}}
	}
	if r.Warned(warn.ClosedLoop) {
		return []takt.Claim{not("the " + name + " at a rate (a closed loop sends less while the target is slow)")}
	}
	if r.Rate.Intended == nil || overload.Waits(r.Variables) || r.Latency[takt.LatencyResponse].Count == 0 {
		return nil
	}
	rate := figure.Near(figure.Round(cmp.Or(r.Schedule.RatePerS, *r.Rate.Intended), 3), 0) + "/s"
	if completed, ok := stored.Completed(r); ok && overload.Behind(r) {
		return []takt.Claim{not("whether the target keeps up with " + rate + " (it completed " + figure.Near(completed, *r.Rate.Intended) + "/s while the schedule lasted; a longer run shows it)")}
	}
	if r.DurationS < leastRun {
		return []takt.Claim{not(fmt.Sprintf("whether the target keeps up with %s (that takes at least %ds)", rate, leastRun))}
	}
	if overload.OverQuota(r) {
		return []takt.Claim{not("whether the brokers keep up with " + rate + " (their quota made takt wait)")}
	}
	return []takt.Claim{{Text: "the target kept up with " + rate, Supported: true}}
}

// share is a share of 0 to 1 for people, as that of an assertion.
func share(v float64) string { return figure.Near(100*v, 0) + " %" }

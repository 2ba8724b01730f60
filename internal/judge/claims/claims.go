// Package claims says in a few sentences what a run supports about its target, and what it does not: that which a
// reader would otherwise conclude from the figures himself.
package claims

import (
	"cmp"
	"fmt"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/assert"
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
func Of(r *takt.Report) []takt.Claim { return of(r, nil, proof.SamplesOf(r)) }

// Judge checks assertions, and writes their results and the claims into the report.
func Judge(r *takt.Report, list []assert.Assertion) {
	samples := assert.Judge(r, list)
	r.Claims = of(r, list, samples)
}

// of are the claims of a report with these assertions, which are judged.
func of(r *takt.Report, list []assert.Assertion, samples *proof.Samples) []takt.Claim {
	main := proof.Main(r)
	l, name := r.Latency[main], main+" time"
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
	s := samples.Of(main)
	all := append(speed(r, list, &l, s, name), until(r)...)
	all = append(all, keptUp(r, name)...)
	if s != nil {
		c := r.Counts
		ended := c.OK + c.Failed + c.Unfinished
		if most := s.Most(proof.Errors, c.Failed+c.Unfinished, ended, proof.Level); most < 1 {
			text := "fewer than " + share(figure.Up, most) + " of the operations fail"
			did := "none"
			if n := c.Failed + c.Unfinished; n > 0 {
				did = share(figure.Nearest, float64(n)/float64(ended))
			}
			text += "; " + did + " did"
			all = append(all, takt.Claim{Text: text, Supported: true, Level: proof.Level})
		}
	}
	if lag := r.Latency[takt.LatencyScheduleLag]; lag.Count >= 100 && r.Rate.Intended != nil && len(all) < Most-1 {
		all = append(all, takt.Claim{Text: "takt sent 99 % of the operations within " + figure.Up.Micros(lag.P99) + " of their due time", Supported: true})
	}
	if r.DurationS >= 1 {
		all = append(all, not("what happens less often than once in "+figure.Micros(figure.Round(1e6*r.DurationS, 2))+", such as a rare freeze"))
	}
	var sorted []takt.Claim
	for _, supported := range []bool{true, false} {
		for _, c := range all {
			if c.Supported == supported {
				sorted = append(sorted, c)
			}
		}
	}
	return sorted[:min(len(sorted), Most)]
}

func not(text string) takt.Claim { return takt.Claim{Text: text} }

// speed says between what times a percentile is: p99, or the highest one that is known.
func speed(r *takt.Report, asserted []assert.Assertion, l *takt.Latency, s *proof.Sample, name string) (list []takt.Claim) {
	if overload.Of(r) != nil {
		return []takt.Claim{not("the " + name + " (that " + overload.Kind(r) + " grows with the length of the run)")}
	}
	if overload.AtEnd(r) == overload.Growth {
		return []takt.Claim{not("the " + name + " of a longer run (" + overload.Behind(r) + ")")}
	}
	shown := proof.Intervals(l)
	for _, p := range []string{"p99", "p90", "p50"} {
		for _, one := range shown {
			switch {
			case one.Name != p:
			case one.Range != nil:
				return append(list, takt.Claim{Text: "the " + p + " of the " + name + " is " + between(one.Range), Supported: true, Level: l.CI.Level})
			case p == "p99":
				list = append(list, not(unclear(r, asserted, s, name, one)))
			}
		}
	}
	return list
}

// between is where a percentile is.
func between(v *takt.Range) string {
	low, high := figure.Down.Micros(v.Low), figure.Up.Micros(v.High)
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

// unclear says what is not known of a percentile, and how long a run has to be that shows it. Of what an assertion
// asks, it says what the assertion says: a bound needs fewer operations than an interval, and two numbers beside one
// percentile would be a riddle.
func unclear(r *takt.Report, asserted []assert.Assertion, s *proof.Sample, name string, one proof.Shown) string {
	text, n, seconds := "how exact the "+one.Name+" of the "+name+" is", uint64(0), 0.0
	for i, a := range asserted {
		if p := r.Assertions[i].Proof; p != nil && p.Needs > n && a.Metric == one.Name && a.Of == proof.Main(r) {
			text, n, seconds = "whether the target meets "+a.Condition(), p.Needs, p.NeedsS
		}
	}
	if n == 0 && s != nil {
		n, seconds = proof.Amount(r, s.Needs(one.P, proof.Level))
	}
	if n == 0 {
		return text + " (the run is too short)"
	}
	return text + " (that takes " + proof.AmountWords(r, n, seconds) + ")"
}

// keptUp says whether the target did what was due; name is that of the latency.
func keptUp(r *takt.Report, name string) []takt.Claim {
	rate := ""
	if r.Rate.Intended != nil {
		rate = figure.Near(figure.Round(cmp.Or(r.Schedule.RatePerS, *r.Rate.Intended), 3), 0) + "/s"
	}
	if overload.OverQuota(r) && rate != "" {
		return []takt.Claim{not("whether the brokers keep up with " + rate + " (their quota made takt wait)")}
	}
	if o := overload.Of(r); o != nil {
		return []takt.Claim{{Text: "the target is overloaded: it completes " + figure.Near(o.CompletedPerS, o.DuePerS) + "/s of the " + figure.Near(o.DuePerS, o.CompletedPerS) + "/s that are due", Supported: true}}
	}
	if r.Warned(warn.ClosedLoop) {
		return []takt.Claim{not("the " + name + " at a rate (a closed loop sends less while the target is slow)")}
	}
	if rate == "" || overload.Waits(r.Variables) || r.Latency[takt.LatencyResponse].Count == 0 {
		return nil
	}
	completed, ok := stored.Completed(r)
	switch end := overload.AtEnd(r); {
	case end == overload.Pause:
		return []takt.Claim{not("whether the target keeps up with " + rate + " (one pause or burst put it behind, up to the end of the schedule; a longer run shows it)")}
	case end == overload.Growth && ok:
		return []takt.Claim{not("whether the target keeps up with " + rate + " (it completed " + figure.Near(completed, *r.Rate.Intended) + "/s while the schedule lasted; a longer run shows it)")}
	}
	if r.DurationS < leastRun {
		return []takt.Claim{not(fmt.Sprintf("whether the target keeps up with %s (that takes at least %ds)", rate, leastRun))}
	}
	return []takt.Claim{{Text: "the target kept up with " + rate, Supported: true}}
}

// share is a share of 0 to 1 for people, as that of an assertion.
func share(way figure.Way, v float64) string { return way.Near(100*v, 0) + " %" }

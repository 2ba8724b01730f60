package assert

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Provable reports whether the bound of a is one of a figure of the target, which a run only estimates: a percentile
// of a latency, or a share. Counts, maxima, means and rates are facts of the run, and so is takt's own lateness.
func (a Assertion) Provable() bool {
	if a.InPart() {
		return false // a report does not count the operations of a step, and rounds, by time
	}
	_, percentile := a.percentile()
	return percentile || a.share()
}

// requireProof requires of all that can be proven that the run proves it.
func requireProof(list []Assertion) {
	for i, a := range list {
		if a.Level == 0 && a.Provable() {
			list[i].Level = proof.Level
		}
	}
}

// percentile is the one of the metric, from 0 to 1.
func (a Assertion) percentile() (p float64, ok bool) {
	digits, ok := strings.CutPrefix(a.Metric, "p")
	if !ok || a.Of == "" || a.Of == takt.LatencySendDelay || a.Of == takt.LatencyScheduleLag || a.Op == "==" {
		return 0, false
	}
	p, err := strconv.ParseFloat(digits, 64)
	return p / 100, err == nil
}

// share reports whether a bounds a share that is neither none nor all.
func (a Assertion) share() bool {
	return a.Unit == takt.UnitPercent && a.Of == "" && a.Metric != "rate" && a.Op != "==" && a.Bound > 0 && a.Bound < 100
}

// closed reports whether a figure at the bound counts as above it.
func (a Assertion) closed() bool { return a.Op == "<" || a.Op == ">=" }

// parts of the operations, by metric. Those of ok and goodput are what was not ok, or not good.
var parts = map[string]proof.Part{"errors": proof.Errors, "failed": proof.Failed, "dropped": proof.Dropped, "unfinished": proof.Unfinished, "ok": proof.NotOK, stored.MetricGoodput: proof.NotGood}

// fromBelow reports whether the metric is a share of which a target wants as much as possible.
func (a Assertion) fromBelow() bool { return a.Metric == "ok" || a.Metric == stored.MetricGoodput }

// counted is how many operations a share of a report is of: its part, and all.
func (a Assertion) counted(r *takt.Report) (part, all uint64) {
	c := r.Counts
	if a.Metric == "errors" {
		return c.Failed + c.Unfinished, c.OK + c.Failed + c.Unfinished
	}
	if a.Metric == stored.MetricGoodput {
		good, all, _ := stored.Goodput(r)
		return all - min(good, all), all
	}
	return map[string]uint64{"failed": c.Failed, "dropped": c.Dropped, "unfinished": c.Unfinished, "ok": c.Scheduled - min(c.OK, c.Scheduled)}[a.Metric], c.Scheduled
}

// level is the confidence of a proof.
func (a Assertion) level() float64 {
	if a.Level > 0 {
		return a.Level
	}
	return proof.Level
}

// prove says what r proves of a checked assertion; nil: there is nothing to prove, or the report is of an older
// takt and nobody asked for a proof.
func (a Assertion) prove(r *takt.Report, samples *proof.Samples, c *takt.Assertion) *takt.Proof {
	if !a.Provable() || c.Value == nil {
		return nil
	}
	p := &takt.Proof{Level: a.level(), Required: a.Level > 0}
	if why := a.Unproven(r); why != "" && c.Result == takt.Pass {
		p.Why = why
		return p
	}
	answer, scale, known := a.answer(r, samples)
	switch {
	case !known && p.Required:
		p.Why = fmt.Sprintf("the report does not count the operations of %s by time", a.Name())
		return p
	case !known:
		return nil
	}
	holds := c.Result == takt.Pass
	p.Proven = answer.Below && holds == a.upper() || answer.Above && holds != a.upper()
	if p.Proven {
		limit := answer.Limit * scale
		if a.fromBelow() {
			limit = 100 - limit
		}
		p.Limit = &limit
		return p
	}
	if r.Verdict == takt.Invalid { // a longer run would be no better
		p.Why = "takt itself was late"
		return p
	}
	if overload.AtEnd(r) == overload.Growth || overload.Of(r) != nil {
		p.Why = overload.Behind(r)
		return p
	}
	p.Needs, p.NeedsS = proof.Amount(r, answer.Needs)
	return p
}

// answer is what the operations say about the bound, in a unit of which scale is that of the bound.
func (a Assertion) answer(r *takt.Report, samples *proof.Samples) (answer proof.Answer, scale float64, known bool) {
	p, percentile := a.percentile()
	if percentile {
		s := samples.Of(a.Of)
		if s == nil {
			return answer, 0, false
		}
		return s.Percentile(p, a.Bound, a.closed(), a.level()), 1, true
	}
	s := samples.Of(proof.Main(r))
	part, all := a.counted(r)
	if s == nil || all == 0 {
		return answer, 0, false
	}
	bound := a.Bound / 100
	if a.fromBelow() {
		bound = 1 - bound
	}
	answer = s.Share(parts[a.Metric], part, all, bound, a.level())
	if a.fromBelow() { // the share of what was not ok is below a bound: that of ok is above
		answer.Below, answer.Above = answer.Above, answer.Below
	}
	return answer, 100, true
}

// proofWords say what is proven, or what could prove it.
func (a Assertion) proofWords(r *takt.Report, p *takt.Proof, holds bool) string {
	if p.Proven {
		side, way := "above ", figure.Down
		if holds == a.upper() {
			side, way = "below ", figure.Up
		}
		return "; proven: " + side + written(way, a.Unit, *p.Limit, a.Bound) + ", " + proof.Words(p.Level)
	}
	words := "; not proven: "
	if !holds {
		words = "; not proven to be missed: "
	}
	switch {
	case p.Why != "":
		return words + p.Why
	case p.Needs == 0:
		return words + "the figure is too close to the bound"
	}
	return words + "needs " + proof.AmountWords(r, p.Needs, p.NeedsS)
}

// Evidence is how many operations of a report are on the side of the bound on which a holds, of all, and the share
// of them that is needed so that a holds; not ok: a is about a fact of the run, which needs no evidence.
func (a Assertion) Evidence(r *takt.Report) (part, all, share float64, ok bool) {
	above := false // part is what is above the bound
	if p, percentile := a.percentile(); percentile {
		l := r.Latency[a.Of]
		h, err := hist.Decode(l.HDR)
		if err != nil || h.Count() == 0 {
			return 0, 0, 0, false
		}
		part, all, share, above = proof.Beyond(h, a.Bound, a.closed()), float64(h.Count()), 1-p, true
	} else if a.share() {
		n, of := a.counted(r)
		part, all, share, above = float64(n), float64(of), a.Bound/100, !a.fromBelow()
		if !above {
			share = 1 - share
		}
	} else {
		return 0, 0, 0, false
	}
	if above == a.upper() {
		part, share = all-part, 1-share
	}
	return part, all, share, all > 0
}

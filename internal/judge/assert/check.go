package assert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Judge checks the assertions and writes the results into the report. It returns the samples that it decoded.
func Judge(r *takt.Report, list []Assertion) *proof.Samples {
	r.Assertions = nil
	samples := proof.SamplesOf(r)
	for _, a := range list {
		r.Assertions = append(r.Assertions, a.judge(r, samples))
	}
	return samples
}

// Outcome is that of all assertions of a judged report together.
func Outcome(r *takt.Report) takt.Outcome {
	worst := takt.Pass
	order := []takt.Outcome{takt.Pass, takt.Unproven, takt.Void, takt.Fail}
	for _, a := range r.Assertions {
		if slices.Index(order, a.Result) > slices.Index(order, worst) {
			worst = a.Result
		}
	}
	return worst
}

// VoidWords say why assertions of a judged report are void.
func VoidWords(r *takt.Report) string {
	which := "the"
	if slices.ContainsFunc(r.Assertions, func(a takt.Assertion) bool { return a.Result != takt.Void }) {
		which = "some"
	}
	if r.Verdict == takt.Invalid {
		return "the run is invalid, so " + which + " assertions prove nothing; see its warnings"
	}
	return "takt itself was late, so " + which + " assertions prove nothing; free the CPU, and run it again"
}

// UnprovenWords say why a run with an unproven assertion is inconclusive.
const UnprovenWords = "the run meets an assertion, but does not prove it; the line of the assertion says what would"

// judge checks a, and makes a result void that the run cannot prove. If nothing succeeded, only a pass
// becomes void: a failure is the target's fault.
func (a Assertion) judge(r *takt.Report, samples *proof.Samples) takt.Assertion {
	c := a.Check(r)
	onTime, known := a.onTime(r)
	upper := c.Value != nil && a.upper() && stored.FromDue(a.Of)
	why := ""
	switch {
	case upper && c.Result == takt.Fail && known && a.Holds(onTime):
		why = ", but without takt's own lateness " + a.figure(onTime)
	case upper && verdict.ByLateness(r) && r.Counts.OK > 0 && c.Result == takt.Pass:
		c.Reason += ", with takt's own lateness"
	case upper && verdict.ByLateness(r) && c.Result == takt.Fail && known:
		c.Reason += ", without takt's own lateness " + a.figure(onTime)
	case r.Verdict == takt.Invalid:
		why = ", but the run is invalid"
	case r.Counts.OK == 0 && c.Result == takt.Pass:
		why = ", but nothing succeeded"
	}
	if why != "" {
		c.Result, c.Reason = takt.Void, c.Reason+why
		return c
	}
	if c.Proof = a.prove(r, samples, &c); c.Proof == nil {
		return c
	}
	if grows := c.Result == takt.Pass && a.Unproven(r) != ""; !grows { // else Check has said so
		c.Reason += a.proofWords(r, c.Proof, c.Result == takt.Pass)
	}
	if c.Proof.Required && !c.Proof.Proven && c.Result == takt.Pass {
		c.Result = takt.Unproven
	}
	return c
}

// onTime is the figure of a latency without the generator's own lateness, in µs.
func (a Assertion) onTime(r *takt.Report) (us float64, known bool) {
	if _, known := stored.OnTime(r, a.Of); !known || a.InPart() {
		return 0, false
	}
	us, missing := stored.LatencyOf(r, takt.LatencyOnTime, a.Metric)
	return us, missing == ""
}

// OwnLateness reports whether the result of a hangs on the generator's own lateness.
func (a Assertion) OwnLateness(r *takt.Report) bool {
	v, missing := a.Value(r)
	onTime, known := a.onTime(r)
	return known && missing == "" && a.Holds(v) != a.Holds(onTime)
}

func (a Assertion) figure(v float64) string { return Figure(a.Unit, v, a.Bound) }

// Check compares one figure of the report with the bound. It fails if the report lacks the figure,
// because nothing is proved.
func (a Assertion) Check(r *takt.Report) takt.Assertion {
	c := takt.Assertion{Expression: a.Text, Result: takt.Fail, Unit: a.Unit}
	v, missing := a.Value(r)
	if missing != "" {
		c.Reason = missing
		return c
	}
	c.Value, c.Reason = &v, a.Name()+" was "+a.figure(v)
	if n := r.Counts.Dropped; n > 0 && a.Of != "" && a.Step == "" {
		c.Reason += fmt.Sprintf("; %d dropped operations are not included", n)
	}
	if a.Metric == "rate" && overload.Of(r) != nil {
		c.Reason += " while the schedule lasted"
	}
	if completed, ok := stored.Completed(r); ok && a.Metric == "rate" && overload.AtEnd(r) != overload.Nothing {
		if a.Unit == takt.UnitPercent {
			completed *= 100 / *r.Rate.Intended
		}
		c.Reason += "; " + a.figure(completed) + " while the schedule lasted, the rest in the drain"
	}
	if a.Holds(v) {
		c.Result = takt.Pass
		if why := a.Unproven(r); why != "" {
			c.Reason += "; not proven: " + why
		}
	}
	return c
}

// Unproven says why a bound that r meets is not proven by r; "": nothing here speaks against it.
func (a Assertion) Unproven(r *takt.Report) string {
	if a.upper() && a.NeedsAnswer() && overload.Of(r) != nil {
		return overload.Behind(r) + ", so the figure grows with the length of the run"
	}
	if a.upper() && a.NeedsAnswer() && overload.AtEnd(r) == overload.Growth {
		return overload.Behind(r) + ", so the figure may grow with the length of the run"
	}
	return ""
}

func (a Assertion) upper() bool { return a.Op == "<" || a.Op == "<=" }

// Name is the metric in the form that ParseAssertion reads.
func (a Assertion) Name() string {
	name := a.Metric
	if a.Of != "" && a.Of != takt.LatencyResponse {
		name = a.Of + "." + name
	}
	if a.Step != "" {
		name = steps.Key + "." + a.Step + "." + name
	}
	if a.Rounds {
		name = steps.Rounds + "." + name
	}
	return name
}

// Holds reports whether v, in the unit of the bound, is within the bound.
func (a Assertion) Holds(v float64) bool {
	switch a.Op {
	case "<":
		return v < a.Bound
	case "<=":
		return v <= a.Bound
	case ">":
		return v > a.Bound
	case ">=":
		return v >= a.Bound
	default:
		return v == a.Bound
	}
}

// Value is the figure in the bound's unit, or the reason why it is missing.
func (a Assertion) Value(r *takt.Report) (v float64, missing string) {
	if a.Step != "" {
		of := steps.Of(r, a.Step)
		if of == nil {
			return 0, noStep(a.Step, steps.Names(r))
		}
		r = of
	}
	if a.Rounds {
		of := steps.OfRounds(r)
		if of == nil {
			return 0, "no rounds were counted: they are in a scenario with --rounds, or whose rounds depend on answers"
		}
		r = of
	}
	c := r.Counts
	switch {
	case a.Of != "":
		return stored.LatencyOf(r, a.Of, a.Metric)
	case a.Metric == "errors":
		return stored.Share(c.Failed+c.Unfinished, c.OK+c.Failed+c.Unfinished, "no operation ended")
	case a.Metric == "rate":
		return achieved(r, a.Unit)
	case a.Metric == stored.MetricGoodput:
		good, all, missing := stored.Goodput(r)
		if missing != "" || a.Unit == takt.UnitPercent {
			return stored.Share(good, all, cmp.Or(missing, "no operation ended"))
		}
		return r.Goodput.PerS, ""
	case a.Metric == "lag":
		return stored.LagOf(r)
	}
	n := map[string]uint64{"ok": c.OK, "failed": c.Failed, "dropped": c.Dropped, "unfinished": c.Unfinished}[a.Metric]
	if a.Unit == takt.UnitPercent {
		return stored.Share(n, c.Scheduled, "no operation was scheduled")
	}
	return float64(n), ""
}

// noStep says that there is no such step.
func noStep(step string, names []string) string {
	if len(names) == 0 {
		return fmt.Sprintf("there is no step %q: only --scenario has steps", step)
	}
	return fmt.Sprintf("there is no step %q; the steps are %s", step, strings.Join(names, ", "))
}

// InSteps says that the scenario with these steps does not have that of a; nil: it has it, or a is about the whole run.
func (a Assertion) InSteps(names []string) error {
	if a.Rounds && len(names) == 0 {
		return fmt.Errorf("assertion %q: there are no rounds: only --scenario has them", a.Text)
	}
	if a.Step == "" || steps.Is(a.Step, names) {
		return nil
	}
	return fmt.Errorf("assertion %q: %s", a.Text, noStep(a.Step, names))
}

// achieved is the rate: what ended of the operations due in the window, or, of an overloaded target, what it
// completed in the window. Chance, and not the target, decides what a queue below its capacity completes in
// the drain.
func achieved(r *takt.Report, u takt.Unit) (float64, string) {
	rate := r.Rate.Achieved
	if completed, ok := stored.Completed(r); ok && overload.Of(r) != nil {
		rate = min(rate, completed)
	}
	switch intended := r.Rate.Intended; {
	case u == takt.UnitPerSecond:
		return rate, ""
	case intended == nil:
		return 0, "the run had no intended rate; assert rate>=N/s"
	case *intended == 0:
		return 0, "no operation was due"
	default:
		return rate * 100 / *intended, ""
	}
}

// NeedsAnswer reports whether the assertion is about a latency that ends with an answer.
func (a Assertion) NeedsAnswer() bool { return stored.EndsWithAnswer(a.Of) }

// Figure writes v for people, precisely enough to tell it from a bound.
func Figure(u takt.Unit, v, bound float64) string { return written(figure.Nearest, u, v, bound) }

func written(way figure.Way, u takt.Unit, v, bound float64) string {
	switch u {
	case takt.UnitMicroseconds:
		return way.MicrosNear(v, bound)
	case takt.UnitPercent:
		return way.Near(v, bound) + " %"
	case takt.UnitPerSecond:
		return way.Near(v, bound) + "/s"
	default:
		return way.Near(v, bound)
	}
}

// Break describes what happens at the bound of an assertion: p95 reaches 300ms, rate falls to 99 %.
func (a Assertion) Break() string {
	verb := " reaches "
	if strings.HasPrefix(a.Op, ">") {
		verb = " falls to "
	}
	return a.Name() + verb + Figure(a.Unit, a.Bound, a.Bound)
}

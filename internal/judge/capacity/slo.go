package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// SLO is a list of assertions; a target meets the SLO if all of them pass.
type SLO []assert.Assertion

// ParseSLO reads assertions as ParseAssertions does: p95<300ms,errors<0.1%. It adds errors<1% and
// dropped<1% unless the SLO bounds them, because fast failures and operations that were never sent
// make latencies look good. The error names every fault.
func ParseSLO(texts ...string) (slo SLO, err error) {
	var faults []error
	for _, text := range texts {
		all, bad := assert.ParseAssertions(text)
		for _, a := range all {
			if err := breaksUnderLoad(a); err != nil {
				bad = append(bad, err)
				continue
			}
			a.Text = strings.ReplaceAll(a.Text, " ", "")
			slo = append(slo, a)
		}
		for _, err := range bad {
			faults = append(faults, value.Bad("slo", text, err))
		}
	}
	for _, guard := range []struct{ text, by string }{
		{fmt.Sprintf("errors<%d%%", stored.MostErrors), "errors failed ok goodput"}, {fmt.Sprintf("dropped<%d%%", stored.MostDropped), "dropped ok rate goodput"},
	} {
		if !slices.ContainsFunc(slo, func(a assert.Assertion) bool { return slices.Contains(strings.Fields(guard.by), a.Metric) }) {
			a, err := assert.ParseAssertion(guard.text)
			slo, faults = append(slo, a), append(faults, err)
		}
	}
	return slo, errors.Join(faults...)
}

// breaksUnderLoad refuses assertions that cannot define a limit: bounds that more load does not
// break, rates per second, and counts that depend on the length of a step.
func breaksUnderLoad(a assert.Assertion) error {
	zero := a.Op == "==" && a.Bound == 0
	upper := strings.HasPrefix(a.Op, "<") || zero
	if a.Metric == "ok" || a.Metric == "rate" || a.Metric == stored.MetricGoodput {
		upper = strings.HasPrefix(a.Op, ">")
	}
	switch {
	case a.Level > 0:
		return a.Unleveled()
	case a.Metric == "lag":
		return fmt.Errorf("SLO %q: a search sends load and consumes nothing, so there is no lag; use latencies, errors or rate", a.Text)
	case !upper:
		return fmt.Errorf("SLO %q does not break when the load rises; write an upper bound for latencies and failures, or a lower bound for rate, ok and goodput", a.Text)
	case a.Unit == takt.UnitPerSecond:
		return fmt.Errorf("SLO %q is a rate per second, but the search offers many rates; write a share of the offered rate, as in %s>=99%%", a.Text, a.Metric)
	case a.Unit == takt.UnitCount && a.Bound != 0:
		return fmt.Errorf("SLO %q is a count, which grows with the length of a step; write a share, as in %s%s1%%", a.Text, a.Metric, a.Op)
	}
	return nil
}

// String returns the SLO in the form that ParseSLO reads.
func (s SLO) String() string {
	var parts []string
	for _, a := range s {
		parts = append(parts, a.Text)
	}
	return strings.Join(parts, ",")
}

// statistic is the response-time statistic that a curve shows: the SLO's first one, or p95.
func (s SLO) statistic() string {
	for _, a := range s {
		if _, ok := (StepLatency{}).Get(a.Metric); ok && a.Of == takt.LatencyResponse {
			return a.Metric
		}
	}
	return "p95"
}

// judge checks the SLO on a report, and notes in step the assertion nearest to breaking.
func (s SLO) judge(r *takt.Report, step *Step) (met bool, err error) {
	met, step.Margin = true, math.Inf(-1)
	for _, a := range s {
		v, missing := a.Value(r)
		if missing == "" && a.Of != "" && v == 0 {
			missing = fmt.Sprintf("the report has no %s", a.Name())
		}
		if missing != "" {
			return false, fmt.Errorf("SLO %q cannot be judged: %s", a.Text, missing)
		}
		if m := margin(a, v); m > step.Margin {
			step.Margin, step.Nearest, step.Reason = m, a.Text, a.Name()+" was "+assert.Figure(a.Unit, v, a.Bound)
		}
		met = met && a.Holds(v)
	}
	return met, nil
}

// mostOver limits the ratio of value and bound, so that one run does not outweigh the others.
const mostOver = 4.0

// justOver is the margin of a value at a bound that it must not reach.
const justOver = 1e-9

// margin is 1 − bound ÷ value, or 1 − value ÷ bound for a lower bound: 0 at a bound that may be reached,
// above 0 where the assertion does not hold. The ratio is limited to mostOver. Why reciprocals? The
// reciprocal of a response time falls in a straight line as the rate rises (exactly in M/M/1, where
// every percentile is c ÷ (μ − λ), and in heavy traffic in general: Kingman, Math. Proc. Camb. Phil.
// Soc. 57, 1961). And it scatters by the same amount at every rate, because the relative error of a run
// of given length grows as 1 ÷ (1 − utilisation) (Whitt, Management Science 35, 1989).
func margin(a assert.Assertion, v float64) float64 {
	over, under := v, a.Bound
	if strings.HasPrefix(a.Op, ">") {
		over, under = a.Bound, v
	}
	switch {
	case over == under && a.Holds(v):
		return 0
	case over == under:
		return justOver
	}
	return 1 - 1/min(mostOver, max(1/mostOver, over/under))
}

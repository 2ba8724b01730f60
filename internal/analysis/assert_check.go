package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Judge checks the assertions and writes the results into the report.
func Judge(r *takt.Report, list []Assertion) {
	r.Assertions = nil
	for _, a := range list {
		r.Assertions = append(r.Assertions, void(a.Check(r), r))
	}
}

// void marks a result as void that the run cannot prove. If nothing succeeded, only a pass becomes
// void: a failure is the target's fault.
func void(a takt.Assertion, r *takt.Report) takt.Assertion {
	switch {
	case r.Verdict == takt.Invalid:
		a.Result, a.Reason = takt.Void, a.Reason+", but the run is invalid"
	case r.Counts.OK == 0 && a.Result == takt.Pass:
		a.Result, a.Reason = takt.Void, a.Reason+", but nothing succeeded"
	}
	return a
}

// Check compares one figure of the report with the bound. It fails if the report lacks the figure,
// because nothing is proved.
func (a Assertion) Check(r *takt.Report) takt.Assertion {
	c := takt.Assertion{Expression: a.Text, Result: takt.Fail, Unit: a.unit}
	v, missing := a.value(r)
	if missing != "" {
		c.Reason = missing
		return c
	}
	c.Value, c.Reason = &v, a.name()+" was "+figure(a.unit, v)
	if n := r.Counts.Dropped; n > 0 && a.of != "" {
		c.Reason += fmt.Sprintf("; %d dropped operations are not included", n)
	}
	if a.holds(v) {
		c.Result = takt.Pass
	}
	return c
}

// name is the metric in the form that ParseAssertion reads.
func (a Assertion) name() string {
	if a.of == "" || a.of == takt.LatencyResponse {
		return a.metric
	}
	return a.of + "." + a.metric
}

func (a Assertion) holds(v float64) bool {
	switch a.op {
	case "<":
		return v < a.bound
	case "<=":
		return v <= a.bound
	case ">":
		return v > a.bound
	case ">=":
		return v >= a.bound
	default:
		return v == a.bound
	}
}

// value is the figure in the bound's unit, or the reason why it is missing.
func (a Assertion) value(r *takt.Report) (v float64, missing string) {
	c := r.Counts
	switch {
	case a.of != "":
		return latency(r, a.of, a.metric)
	case a.metric == "errors":
		return share(c.Failed+c.Unfinished, c.OK+c.Failed+c.Unfinished, "no operation ended")
	case a.metric == "rate":
		return achieved(r.Rate, a.unit)
	}
	n := map[string]uint64{"ok": c.OK, "failed": c.Failed, "dropped": c.Dropped, "unfinished": c.Unfinished}[a.metric]
	if a.unit == takt.UnitPercent {
		return share(n, c.Scheduled, "no operation was scheduled")
	}
	return float64(n), ""
}

func share(part, whole uint64, none string) (float64, string) {
	if whole == 0 {
		return 0, none
	}
	return float64(part) * 100 / float64(whole), ""
}

func achieved(rate takt.Rate, u takt.Unit) (float64, string) {
	switch {
	case u == takt.UnitPerSecond:
		return rate.Achieved, ""
	case rate.Intended == nil:
		return 0, "the run had no intended rate; assert rate>=N/s"
	case *rate.Intended == 0:
		return 0, "no operation was due"
	default:
		return rate.Achieved * 100 / *rate.Intended, ""
	}
}

func latency(r *takt.Report, name, statistic string) (float64, string) {
	l, ok := r.Latency[name]
	_, oneWay := r.Latency[takt.LatencySend]
	switch {
	case !ok && oneWay && answered(name):
		return 0, fmt.Sprintf("nobody acknowledged the operations, so there is no %s time; %s is from due until they were written", strings.ReplaceAll(name, "_", " "), takt.LatencySend)
	case !ok:
		return 0, fmt.Sprintf("the report has no latency %q; it has %s", name, strings.Join(names(r), ", "))
	case l.Count == 0:
		return 0, "no " + strings.ReplaceAll(name, "_", " ") + " time was measured"
	}
	return map[string]float64{
		"min": l.Min, "mean": l.Mean, "p50": l.P50, "p75": l.P75, "p90": l.P90,
		"p95": l.P95, "p99": l.P99, "p99.9": l.P99_9, "p99.99": l.P99_99, "max": l.Max,
	}[statistic], ""
}

// answered reports whether the latency of that name ends with an answer.
func answered(name string) bool {
	return name == takt.LatencyResponse || name == takt.LatencyResponseOK || name == takt.LatencyService
}

// NeedsAnswer reports whether the assertion is about a latency that ends with an answer.
func (a Assertion) NeedsAnswer() bool { return answered(a.of) }

func names(r *takt.Report) []string {
	if len(r.Latency) == 0 {
		return []string{"none"}
	}
	return slices.Sorted(maps.Keys(r.Latency))
}

// figure formats v precisely enough to tell it from a bound.
func figure(u takt.Unit, v float64) string {
	switch u {
	case takt.UnitMicroseconds:
		return time.Duration(math.Round(v * 1e3)).String()
	case takt.UnitPercent:
		return decimal(v) + " %"
	case takt.UnitPerSecond:
		return decimal(v) + "/s"
	default:
		return decimal(v)
	}
}

// decimal formats v with up to four decimals.
func decimal(v float64) string {
	s := strconv.FormatFloat(v, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

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

// Outcome is what came of an assertion.
type Outcome struct {
	Assertion string // as it was written
	Passed    bool
	Reason    string // "p99 was 12.3ms", or why there is no such figure
}

// String is the line that people see: PASS p99<250ms (p99 was 12.3ms).
func (o Outcome) String() string {
	word := "FAIL"
	if o.Passed {
		word = "PASS"
	}
	return fmt.Sprintf("%s %s (%s)", word, o.Assertion, o.Reason)
}

// Check holds the assertion against a report. A figure that the report does not
// have fails it: nothing was shown to be fast.
func (a Assertion) Check(r *takt.Report) Outcome {
	v, missing := a.value(r)
	if missing != "" {
		return Outcome{a.Text, false, missing}
	}
	reason := a.name() + " was " + a.unit.format(v)
	if n := r.Counts.Dropped; n > 0 && a.of != "" {
		reason += fmt.Sprintf("; %d dropped operations are not in it", n)
	}
	return Outcome{a.Text, a.holds(v), reason}
}

// name is the metric as the user may write it.
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

// value is the figure in the bound's unit, or why there is none.
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
	if a.unit == percent {
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

func achieved(rate takt.Rate, u unit) (float64, string) {
	switch {
	case u == perSecond:
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
	switch {
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

func names(r *takt.Report) []string {
	if len(r.Latency) == 0 {
		return []string{"none"}
	}
	return slices.Sorted(maps.Keys(r.Latency))
}

// format writes v precisely enough to tell it from a bound.
func (u unit) format(v float64) string {
	switch u {
	case microseconds:
		return time.Duration(math.Round(v * 1e3)).String()
	case percent:
		return decimal(v) + " %"
	case perSecond:
		return decimal(v) + "/s"
	default:
		return decimal(v)
	}
}

// decimal writes v with up to four decimals.
func decimal(v float64) string {
	s := strconv.FormatFloat(v, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

package stored

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// Statistics lists the statistics of a latency.
func Statistics() []string {
	return []string{"min", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max"}
}

// totals lists the figures of a run that are not latencies and that assertions accept.
func totals() []string {
	return []string{"errors", "rate", MetricGoodput, "ok", "failed", "dropped", "unfinished", "lag"}
}

// AssertionMetrics lists the metrics that assertions accept without a prefix.
func AssertionMetrics() []string { return append(Statistics(), totals()...) }

// SplitName separates service.p99.9 into service and p99.9. metric is "" if it is unknown.
func SplitName(name string) (of, metric string) {
	switch {
	case slices.Contains(totals(), name):
		return "", name
	case slices.Contains(Statistics(), name):
		return takt.LatencyResponse, name
	}
	of, metric, _ = strings.Cut(name, ".")
	if of == "" || !slices.Contains(Statistics(), metric) {
		return "", ""
	}
	return of, metric
}

// LagOf returns the messages that a consumer had not read, or the reason why that is missing. A
// report that was read from a file has it as a float64.
func LagOf(r *takt.Report) (v float64, missing string) {
	switch n := r.Extra["lag"].(type) {
	case int64:
		return float64(n), ""
	case float64:
		return n, ""
	}
	return 0, "nothing was consumed, so there is no lag; takt kafka consume and e2e have it"
}

// Goodput is how many operations met all conditions of the load, and of how many; missing is why that is not known. An
// interval counts those that ended in it.
func Goodput(r *takt.Report) (good, all uint64, missing string) {
	if r.Goodput == nil {
		return 0, 0, NoGoodput
	}
	c := r.Counts
	return r.Goodput.Good, c.OK + c.Failed + c.Dropped + c.Unfinished, ""
}

// NoGoodput says why a run has no goodput.
const NoGoodput = "operations had no conditions, so there is no goodput; add --slo to the load, as in takt llm --slo 'ttft<300ms'"

// Share is part ÷ whole in percent; missing is none if whole is 0.
func Share(part, whole uint64, none string) (percent float64, missing string) {
	if whole == 0 {
		return 0, none
	}
	return float64(part) * 100 / float64(whole), ""
}

// LatencyOf returns a statistic of a latency in µs, or the reason why it is missing.
func LatencyOf(r *takt.Report, name, statistic string) (us float64, missing string) {
	l, ok := r.Latency[name]
	_, oneWay := r.Latency[takt.LatencySend]
	switch {
	case !ok && oneWay && EndsWithAnswer(name):
		return 0, fmt.Sprintf("nobody acknowledged the operations, so there is no %s time; %s is from due until they were written", strings.ReplaceAll(name, "_", " "), takt.LatencySend)
	case !ok:
		return 0, fmt.Sprintf("the report has no latency %q; it has %s", name, strings.Join(names(r), ", "))
	case l.Count == 0:
		return 0, "no " + strings.ReplaceAll(name, "_", " ") + " time was measured"
	}
	return Statistic(l, statistic), ""
}

// Statistic is one of Statistics of a latency, in µs.
func Statistic(l takt.Latency, name string) float64 {
	return map[string]float64{
		"min": l.Min, "mean": l.Mean, "p50": l.P50, "p75": l.P75, "p90": l.P90,
		"p95": l.P95, "p99": l.P99, "p99.9": l.P99_9, "p99.99": l.P99_99, "max": l.Max,
	}[name]
}

// EndsWithAnswer reports whether the latency of that name ends with an answer.
func EndsWithAnswer(name string) bool {
	return name == takt.LatencyResponse || name == takt.LatencyResponseOK || name == takt.LatencyService
}

// FromDue reports whether the latency of that name counts from due, so the generator's own lateness is in it.
func FromDue(name string) bool {
	return name == takt.LatencyResponse || name == takt.LatencyResponseOK || name == takt.LatencySend
}

// OnTime is the latency of that name without the generator's own lateness. Reports of older versions do
// not know it, and one with failures does not know that of its ok operations.
func OnTime(r *takt.Report, name string) (l takt.Latency, known bool) {
	l = r.Latency[takt.LatencyOnTime]
	return l, FromDue(name) && l.Count > 0 && l.Count == r.Latency[name].Count
}

func names(r *takt.Report) []string {
	if len(r.Latency) == 0 {
		return []string{"none"}
	}
	return slices.Sorted(maps.Keys(r.Latency))
}

// Decimal formats v with up to four decimals.
func Decimal(v float64) string {
	s := strconv.FormatFloat(v, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

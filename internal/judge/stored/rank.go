package stored

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The limits of Standing, per cent of the operations. A p99 can be that of an error if more than 1 %
// of the operations are errors, and it leaves out the slowest if more than 1 % were dropped.
const (
	MostErrors  = 1
	MostDropped = 1
	// mostFailing applies to all other figures: accepted bytes are right however many requests the
	// server refused, but a server that refuses most of them is not the best.
	mostFailing = 50
)

// ErrorTolerance is the usual largest difference of two shares of errors, in percentage points.
const ErrorTolerance = 0.1

// Standing is what decides whether a group of runs may be ranked against others.
type Standing struct {
	Unfit   bool    // nothing can be concluded from one of its runs
	Errors  float64 // mean of its runs, per cent of the operations that ended
	Dropped float64 // mean of its runs, per cent of the operations that were due
	Load    string  // the rates that were asked for
}

// Standing returns the standing of a single run, without its load, for callers with many runs.
func (r *Run) Standing() Standing {
	errors, _ := r.Figures.Get("errors")
	dropped, _ := r.Figures.Get("dropped")
	scheduled, _ := r.Figures.Get("scheduled")
	return Standing{Unfit: r.Unfit != "", Errors: errors, Dropped: 100 * dropped / max(1, scheduled)}
}

// StandingOf returns the standing of a group, which has at least one run.
func StandingOf(runs ...*Run) (all Standing) {
	var loads []string
	for _, r := range runs {
		s := r.Standing()
		all.Unfit = all.Unfit || s.Unfit
		all.Errors += s.Errors
		all.Dropped += s.Dropped
		if load := r.load(); !slices.Contains(loads, load) {
			loads = append(loads, load)
		}
	}
	all.Errors /= float64(len(runs))
	all.Dropped /= float64(len(runs))
	slices.Sort(loads)
	all.Load = strings.Join(loads, " and ")
	return all
}

// loadVariables are the variables of the rate.
var loadVariables = strings.Fields("rate_per_s rate stages speed")

// IsLoad reports whether the variable says at which rate a run sends.
func IsLoad(variable string) bool { return slices.Contains(loadVariables, variable) }

// load is the rate that was asked for.
func (r *Run) load() string {
	var parts []string
	for _, name := range loadVariables {
		if v, ok := r.Settings.Variables[name]; ok {
			parts = append(parts, name+" "+JSON(v))
		}
	}
	if parts == nil {
		return "no rate"
	}
	return strings.Join(parts, " ")
}

// flattered reports whether errors make the metric look good: an error may be a fast answer, and the
// rate counts it. Other figures count only what succeeded.
func flattered(metric string) bool { return IsLatency(metric) || metric == "rate" }

// IsLatency reports whether the metric is a statistic of a latency.
func IsLatency(metric string) bool {
	of, _ := SplitName(metric)
	return of != ""
}

// Bars says why a group cannot be ranked by the metric; "": it can.
func (s Standing) Bars(metric string) string {
	errors := float64(mostFailing)
	if flattered(metric) {
		errors = MostErrors
	}
	switch {
	case s.Unfit:
		return "nothing can be concluded from one of its runs"
	case s.Errors > errors:
		return fmt.Sprintf("%.3g %% of its operations are errors", s.Errors)
	case s.Dropped > MostDropped && IsLatency(metric):
		return fmt.Sprintf("%.3g %% of its operations were dropped, so the slowest are missing", s.Dropped)
	}
	return ""
}

// Apart says why the metric of two groups with these names cannot be compared; "": it can. Latencies
// need about equally many errors, at most tolerance percentage points apart, and equal loads.
func (s Standing) Apart(other Standing, name, otherName, metric string, tolerance float64) string {
	switch {
	case !IsLatency(metric):
	case math.Abs(s.Errors-other.Errors) > tolerance, max(s.Errors, other.Errors) > MostErrors:
		return fmt.Sprintf("%s %% of the operations of %s and %s %% of those of %s are errors, which may be fast answers: latencies prove nothing; fix the errors first",
			Decimal(s.Errors), name, Decimal(other.Errors), otherName)
	case max(s.Dropped, other.Dropped) > MostDropped:
		return fmt.Sprintf("%s %% of the operations of %s and %s %% of those of %s were dropped, so the slowest are missing: latencies prove nothing; lower the rate",
			Decimal(s.Dropped), name, Decimal(other.Dropped), otherName)
	case s.Load != other.Load:
		return fmt.Sprintf("%s and %s had different loads (%s, %s): latencies prove nothing; compare at one rate", name, otherName, s.Load, other.Load)
	}
	return ""
}

package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
)

// Sort is an order of runs: the better metric, the newest date, or the largest number comes first.
// Runs without the value come last. Of equal runs, the newest comes first.
type Sort struct {
	field     field
	ascending bool
}

// sorts are the sort criteria of hey-apm.
func sorts() []string {
	return []string{"report_date", "revision_date", "duration", "pushed_volume", "index_success_ratio", "actual_expected_ratio", "throughput", "efficiency", "latency"}
}

// ParseSort reads the name of a field: a criterion of hey-apm, a metric, or a label, variable or flag
// with numbers. "" means report_date. check finds out later whether runs have that field.
func ParseSort(name string) (Sort, error) {
	f := fieldOf(cmp.Or(strings.TrimSpace(name), "report_date"))
	switch {
	case strings.ContainsAny(name, "!=<>"):
		return Sort{}, fmt.Errorf("cannot sort by %q; %s", name, sortAdvice())
	case f.from == ofRun && f.key != "date":
		return Sort{}, fmt.Errorf("cannot sort by %s, which is text; %s", name, sortAdvice())
	}
	m, metric := stored.MetricOf(f.key)
	return Sort{field: f, ascending: f.from == ofFigures && metric && !m.Higher}, nil
}

func sortAdvice() string {
	return "use one of " + strings.Join(sorts(), " ") + ", a metric such as p99 or errors, or a label, variable or flag with numbers"
}

// Name is the criterion as the user wrote it.
func (s Sort) Name() string { return s.field.text }

// metric is the metric to sort by; "": the criterion is another field.
func (s Sort) metric() string {
	if s.field.from != ofFigures {
		return ""
	}
	return s.field.key
}

// check refuses a criterion that no run has.
func (s Sort) check(order []place) error {
	has := func(p place) bool { return !math.IsInf(p.rank, 1) }
	if len(order) == 0 || slices.ContainsFunc(order, has) {
		return nil
	}
	return stored.Usagef("cannot sort by %q: no run has such a number or date; %s", s.field.text, sortAdvice())
}

// place is a position in an order: low ranks come first.
type place struct {
	rank float64
	date time.Time
	id   string
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.rank, o.rank), o.date.Compare(p.date), cmp.Compare(o.id, p.id))
}

// rank is the run's value as a number, lowest for the run that comes first; +Inf: the run has no
// value.
func (s Sort) rank(r *stored.Run) float64 {
	v, ok := numberOf(s.field.value(r))
	return s.order(v, ok)
}

func (s Sort) order(v float64, ok bool) float64 {
	switch {
	case !ok || math.IsNaN(v):
		return math.Inf(1)
	case s.ascending:
		return v
	}
	return -v
}

// numberOf converts a value of a field to a number. Dates become seconds since 1970, precise to about
// a microsecond.
func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case time.Time:
		return float64(v.UnixMicro()) / 1e6, true
	case string:
		if t, err := stored.ParseRevisionDate(v); err == nil {
			return float64(t.UnixMicro()) / 1e6, true
		}
		return readSeconds(v) // also a bare number
	}
	return 0, false
}

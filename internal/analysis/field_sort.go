package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Sort is an order of runs: metrics with the better first, dates with the newest, and
// other numbers with the largest. Runs without the value come last; of equals the
// newest comes first.
type Sort struct {
	field     field
	ascending bool
}

// sorts are hey-apm's criteria.
func sorts() []string {
	return []string{"report_date", "revision_date", "duration", "pushed_volume", "index_success_ratio", "actual_expected_ratio", "throughput", "efficiency", "latency"}
}

// ParseSort reads the name of a field: one of hey-apm's criteria, a metric, or a label,
// variable or flag with numbers. "" is report_date. Whether runs have a field of that
// name only the runs can tell.
func ParseSort(name string) (Sort, error) {
	f := fieldOf(cmp.Or(strings.TrimSpace(name), "report_date"))
	switch {
	case strings.ContainsAny(name, "!=<>"):
		return Sort{}, fmt.Errorf("cannot sort by %q; %s", name, sortAdvice())
	case f.from == ofRun && f.key != "date":
		return Sort{}, fmt.Errorf("cannot sort by %s, which is text; %s", name, sortAdvice())
	}
	m, metric := MetricOf(f.key)
	return Sort{field: f, ascending: f.from == ofFigures && metric && !m.Higher}, nil
}

func sortAdvice() string {
	return "use one of " + strings.Join(sorts(), " ") + ", a metric such as p99 or errors, or a label, variable or flag with numbers"
}

// Name is the criterion as it was written.
func (s Sort) Name() string { return s.field.text }

// metric is that of the criterion, "" if it is another field.
func (s Sort) metric() string {
	if s.field.from != ofFigures {
		return ""
	}
	return s.field.key
}

// check refuses a criterion that sorts nothing.
func (s Sort) check(order []place) error {
	has := func(p place) bool { return !math.IsInf(p.rank, 1) }
	if len(order) == 0 || slices.ContainsFunc(order, has) {
		return nil
	}
	return askedf("cannot sort by %q: no run has such a number or date; %s", s.field.text, sortAdvice())
}

// place is where something stands in an order: low ranks first.
type place struct {
	rank float64
	date time.Time
	id   string
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.rank, o.rank), o.date.Compare(p.date), cmp.Compare(o.id, p.id))
}

// rank is the run's value as a number by which the first in the order is the lowest.
// +Inf: the run has none.
func (s Sort) rank(r *Run) float64 {
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

// numberOf is a value of a field as a number; dates are in seconds since 1970, to
// about a microsecond.
func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case time.Time:
		return float64(v.UnixMicro()) / 1e6, true
	case string:
		if t, err := ParseRevisionDate(v); err == nil {
			return float64(t.UnixMicro()) / 1e6, true
		}
		return readSeconds(v) // also a bare number
	}
	return 0, false
}

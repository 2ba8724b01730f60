// Package analysis draws conclusions from reports alone: it never sees a run.
package analysis

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Assertion is a bound on one figure of a report, in the form that --assert accepts:
//
//	p99<250ms  service.p99.9<=1s  connect.max<50ms   a latency, with its unit
//	errors<0.1%                                      (failed + unfinished) ÷ (ok + failed + unfinished)
//	ok>=1000  failed==0  dropped==0  unfinished<1%   a count, or its share of scheduled
//	rate>=99%  rate>=990/s                           achieved ÷ intended, or achieved
//
// A latency without a prefix is the response time. Prefixes are response_ok, service, send_delay,
// schedule_lag, transfer and the phases of the driver.
type Assertion struct {
	Text   string  // as the user wrote it
	metric string  // p99, errors, ok, …
	of     string  // the latency's name; "" for other figures
	op     string  // < <= > >= ==
	bound  float64 // in unit
	unit   takt.Unit
}

// ParseAssertions reads assertions separated by commas: p99<250ms,errors<1%. This is the grammar
// of --assert, --abort-on and --slo. It returns every fault, and all assertions without one.
func ParseAssertions(texts ...string) (all []Assertion, faults []error) {
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			a, err := ParseAssertion(strings.TrimSpace(part))
			if part == "" && part != text {
				err = fmt.Errorf("%q has nothing between its commas; leave the comma out", text)
			}
			if err != nil {
				faults = append(faults, err)
				continue
			}
			all = append(all, a)
		}
	}
	return all, faults
}

// ParseAssertion reads METRIC OPERATOR BOUND, and ignores spaces.
func ParseAssertion(text string) (Assertion, error) {
	s := strings.ReplaceAll(text, " ", "")
	i := strings.IndexAny(s, "<>=")
	if i < 1 {
		return Assertion{}, fmt.Errorf("assertion %q is not of the form METRIC<BOUND; write for example p99<250ms or errors<1%%", text)
	}
	a := Assertion{Text: text, op: operator(s[i:])}
	if a.op == "" {
		return Assertion{}, fmt.Errorf("assertion %q has an unknown operator; use one of < <= > >= ==", text)
	}
	if a.of, a.metric = split(s[:i]); a.metric == "" {
		return Assertion{}, fmt.Errorf("assertion %q: unknown metric %q; use one of %s, or a percentile after a name, as in service.p99",
			text, s[:i], strings.Join(metrics(), " "))
	}
	err := a.parseBound(s[i+len(a.op):])
	return a, err
}

func operator(s string) string {
	for _, op := range []string{"<=", ">=", "==", "<", ">"} { // longer ones first
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

func statistics() []string {
	return []string{"min", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max"}
}

func figures() []string {
	return []string{"errors", "rate", "ok", "failed", "dropped", "unfinished"}
}

func metrics() []string { return append(statistics(), figures()...) }

// split separates service.p99.9 into service and p99.9. metric is "" if it is unknown.
func split(name string) (of, metric string) {
	switch {
	case slices.Contains(figures(), name):
		return "", name
	case slices.Contains(statistics(), name):
		return takt.LatencyResponse, name
	}
	of, metric, _ = strings.Cut(name, ".")
	if of == "" || !slices.Contains(statistics(), metric) {
		return "", ""
	}
	return of, metric
}

// parseBound reads the number and its unit. It refuses a latency without a unit. Elsewhere a bare
// number means seconds, and p99<250 would always pass.
func (a *Assertion) parseBound(s string) error {
	var err error
	if a.of != "" {
		err = a.parseDuration(s)
	} else {
		err = a.parseNumber(s)
	}
	if err != nil {
		return fmt.Errorf("assertion %q: %q cannot be the bound of %s; write %s", a.Text, s, a.metric, a.example())
	}
	return nil
}

var errBound = errors.New("not a bound")

func (a *Assertion) parseDuration(s string) error {
	d, err := time.ParseDuration(s) // the only number that it accepts without a unit is 0
	if err != nil || d < 0 {
		return errBound
	}
	a.bound, a.unit = float64(d)/1e3, takt.UnitMicroseconds
	return nil
}

func (a *Assertion) parseNumber(s string) error {
	digits := strings.TrimRight(s, "%/s")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || strings.Trim(digits, "0123456789.") != "" {
		return errBound // the Trim refuses 1e9, Inf and -1
	}
	a.bound = v
	switch suffix := s[len(digits):]; {
	case suffix == "%":
		a.unit = takt.UnitPercent
	case suffix == "/s" && a.metric == "rate":
		a.unit = takt.UnitPerSecond
	case suffix == "" && a.metric == "errors" && v == 0:
		a.unit = takt.UnitPercent
	case suffix == "" && a.metric != "errors" && a.metric != "rate":
		a.unit = takt.UnitCount
	default:
		return errBound
	}
	return nil
}

func (a *Assertion) example() string {
	switch {
	case a.of != "":
		return "a time with its unit, as in p99<250ms"
	case a.metric == "errors":
		return "a percentage, as in errors<1%"
	case a.metric == "rate":
		return "rate>=99% (of the intended rate) or rate>=990/s"
	default:
		return "a count or a share of the scheduled operations, as in ok>=1000 or dropped<1%"
	}
}

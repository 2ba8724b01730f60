// Package assert reads conditions such as p99<250ms, and checks them on a report or on one of its
// intervals.
package assert

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/pkg/takt"
)

// Assertion is a bound on one figure of a report, in the form that --assert accepts:
//
//	p99<250ms  service.p99.9<=1s  connect.max<50ms   a latency, with its unit
//	errors<0.1%                                      (failed + unfinished) ÷ (ok + failed + unfinished)
//	ok>=1000  failed==0  dropped==0  unfinished<1%   a count, or its share of scheduled
//	rate>=99%  rate>=990/s                           achieved ÷ intended, or achieved
//	goodput>99%  goodput>=40/s                       operations that met all of --slo: their share of scheduled, or their rate
//	lag<1000                                         messages that a consumer has not read
//	steps.pay.p99<300ms  steps.pay.errors<1%         a figure of one step of a scenario
//	rounds.errors<1%     rounds.ok>=100              the share of its rounds that failed, or a count of them
//	p99<250ms@95%                                    a percentile or a share, which the run must prove
//
// A latency without a prefix is the response time. Prefixes are response_ok, service, send_delay,
// schedule_lag, transfer and the phases of the driver.
type Assertion struct {
	Text   string  // as the user wrote it
	Step   string  // of a scenario, without spaces; "": the whole run
	Rounds bool    // the rounds of a scenario, and not its operations
	Metric string  // p99, errors, ok, …
	Of     string  // the latency's name; "" for other figures
	Op     string  // < <= > >= ==
	Bound  float64 // in unit
	Unit   takt.Unit
	Level  float64 // confidence with which the run must prove it: 0.95; 0: it need not
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
	if strings.HasPrefix(s, steps.Key+".") { // whose names may have these characters
		for i = strings.LastIndexAny(s, "<>="); i > 0 && strings.ContainsAny(s[i-1:i], "<>="); {
			i--
		}
	}
	if i < 1 {
		return Assertion{}, fmt.Errorf("assertion %q is not of the form METRIC<BOUND; write for example p99<250ms or errors<1%%", text)
	}
	s, level, asked := strings.Cut(s, "@")
	a := Assertion{Text: text, Op: operator(s[min(i, len(s)):])}
	if a.Op == "" {
		return Assertion{}, fmt.Errorf("assertion %q has an unknown operator; use one of < <= > >= ==", text)
	}
	if rest, is := strings.CutPrefix(s[:i], steps.Key+"."); is {
		a.Step, a.Of, a.Metric = splitStep(rest)
	} else if rest, is := strings.CutPrefix(s[:i], steps.Rounds+"."); is && slices.Contains(roundMetrics, rest) {
		a.Rounds, a.Metric = true, rest
	} else {
		a.Of, a.Metric = stored.SplitName(s[:i])
	}
	if a.Metric == "" {
		return Assertion{}, fmt.Errorf("assertion %q: unknown metric %q; use one of %s, or a percentile after a name, as in service.p99",
			text, s[:i], strings.Join(stored.AssertionMetrics(), " "))
	}
	err := a.parseBound(s[i+len(a.Op):])
	if err == nil && asked {
		err = a.parseLevel(level)
	}
	return a, err
}

// roundMetrics are the figures of rounds.
var roundMetrics = []string{"errors", "ok", "failed", "dropped"}

// InPart reports whether a is about a step or the rounds of a scenario, whose figures only a whole report has.
func (a Assertion) InPart() bool { return a.Step != "" || a.Rounds }

// splitStep takes NAME.METRIC apart, where the name may have dots, too.
func splitStep(text string) (step, of, metric string) {
	for i := range len(text) {
		if text[i] != '.' || i == 0 {
			continue
		}
		if of, metric = stored.SplitName(text[i+1:]); metric != "" && metric != "lag" && metric != stored.MetricGoodput {
			return text[:i], of, metric
		}
	}
	return "", "", ""
}

// The levels that an assertion may ask for. Above the highest one no run of a day is long enough.
const (
	lowestLevel  = 50
	highestLevel = 99.99
)

// parseLevel reads the confidence level after the @.
func (a *Assertion) parseLevel(s string) error {
	digits, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(digits, 64)
	switch {
	case !percent || err != nil || strings.Trim(digits, "0123456789.") != "" || v < lowestLevel || v > highestLevel:
		return fmt.Errorf("assertion %q: %q cannot be a confidence level; write %d%% to %v%%, as in p99<250ms@95%%", a.Text, s, lowestLevel, highestLevel)
	case a.InPart():
		return fmt.Errorf("assertion %q: nothing is proven of steps and rounds, which are not counted by time; leave @%s out", a.Text, s)
	case !a.Provable():
		return fmt.Errorf("assertion %q: %s with this bound is a fact of the run and needs no proof; leave @%s out", a.Text, a.Metric, s)
	}
	a.Level = math.Round(v*1e4) / 1e6
	return nil
}

// Unleveled says that where only figures are compared nothing is proven; nil: nothing need be.
func (a Assertion) Unleveled() error {
	if a.Level == 0 {
		return nil
	}
	return fmt.Errorf("condition %q: only --assert has a confidence level; leave out what follows the @", a.Text)
}

// Condition is the condition without the confidence level.
func (a Assertion) Condition() string {
	text, _, _ := strings.Cut(a.Text, "@")
	return text
}

func operator(s string) string {
	for _, op := range []string{"<=", ">=", "==", "<", ">"} { // longer ones first
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

// parseBound reads the number and its unit. It refuses a latency without a unit. Elsewhere a bare
// number means seconds, and p99<250 would always pass.
func (a *Assertion) parseBound(s string) error {
	var err error
	if a.Of != "" {
		err = a.parseDuration(s)
	} else {
		err = a.parseNumber(s)
	}
	if err != nil {
		return fmt.Errorf("assertion %q: %q cannot be the bound of %s; write %s", a.Text, s, a.Metric, a.example())
	}
	return nil
}

var errBound = errors.New("not a bound")

func (a *Assertion) parseDuration(s string) error {
	d, err := time.ParseDuration(s) // the only number that it accepts without a unit is 0
	if err != nil || d < 0 {
		return errBound
	}
	a.Bound, a.Unit = float64(d)/1e3, takt.UnitMicroseconds
	return nil
}

func (a *Assertion) parseNumber(s string) error {
	digits := strings.TrimRight(s, "%/s")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || strings.Trim(digits, "0123456789.") != "" {
		return errBound // the Trim refuses 1e9, Inf and -1
	}
	a.Bound = v
	switch suffix := s[len(digits):]; {
	case suffix == "%" && a.Metric != "lag":
		a.Unit = takt.UnitPercent
	case suffix == "/s" && (a.Metric == "rate" || a.Metric == stored.MetricGoodput):
		a.Unit = takt.UnitPerSecond
	case suffix == "" && a.Metric == "errors" && v == 0:
		a.Unit = takt.UnitPercent
	case suffix == "" && a.Metric != "errors" && a.Metric != "rate" && a.Metric != stored.MetricGoodput:
		a.Unit = takt.UnitCount
	default:
		return errBound
	}
	return nil
}

func (a *Assertion) example() string {
	switch {
	case a.Of != "":
		return "a time with its unit, as in p99<250ms"
	case a.Metric == "errors":
		return "a percentage, as in errors<1%"
	case a.Metric == "rate":
		return "rate>=99% (of the intended rate) or rate>=990/s"
	case a.Metric == stored.MetricGoodput:
		return "goodput>99% (of the scheduled operations) or goodput>=40/s"
	case a.Metric == "lag":
		return "a number of messages, as in lag<1000"
	default:
		return "a count or a share of the scheduled operations, as in ok>=1000 or dropped<1%"
	}
}

package generators

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The figures that a rule may name. Latencies are in milliseconds, the rate is per second, all others are counts.
const (
	Answered = "answered" // requests with a good answer
	Errors   = "errors"   // requests that failed
	Dropped  = "dropped"  // requests that the generator was to send and did not
	Retried  = "retried"  // requests that the generator sent again by itself
	Rate     = "rate"
	P50      = "p50"
	P90      = "p90"
	P99      = "p99"
	Max      = "max"
	Late     = "late" // p99 of how late requests were sent, after the schedule
)

// The texts that a rule may name.
const (
	Words   = "words"   // warnings of the generator
	Invalid = "invalid" // the generator itself calls its run invalid
	Version = "version"
)

// Names are the figures, in the order of tables.
func Names() []string {
	return []string{Answered, Errors, Dropped, Retried, Rate, P50, P90, P99, Max, Late}
}

func texts() []string { return []string{Words, Invalid, Version} }

// IsLatency reports whether a figure is a time.
func IsLatency(name string) bool { return slices.Contains([]string{P50, P90, P99, Max, Late}, name) }

// How a rule changes its figure.
const (
	is    = "="
	plus  = "+="
	minus = "-="
)

// Rule reads one figure or text from an output.
type Rule struct {
	Name    string
	how     string
	pattern *regexp.Regexp
	unit    string
}

// The units that are no factor.
const (
	unitNumber = "n"      // a number
	unitTime   = "time"   // a time with its unit, such as 1.23ms or 1m2s
	unitCounts = "counts" // members of a JSON object, whose counts are added
)

// millis are units of time, in ms.
func millis() map[string]float64 {
	return map[string]float64{"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
}

// ParseRule reads NAME=REGEX:UNIT. Name += or -= add all matches to the figure, or subtract them; without
// matches they change nothing. UNIT is ns, us, ms, s or time of a latency, and n or counts of other figures,
// which need none. The regular expression (RE2) matches within lines and has one group.
func ParseRule(text string) (r Rule, err error) {
	i := strings.IndexByte(text, '=')
	if i < 1 {
		return r, fmt.Errorf("rule %q: write NAME=REGEX:UNIT, as in p99=99%%: (\\S+) ms:ms", text)
	}
	name, how, rest := text[:i], is, text[i+1:]
	if last := name[i-1]; last == '+' || last == '-' {
		name, how = name[:i-1], string(last)+is
	}
	r = Rule{Name: name, how: how}
	known := slices.Concat(Names(), texts())
	if !slices.Contains(known, name) {
		return r, fmt.Errorf("rule %q: unknown figure %q; use one of %s", text, name, strings.Join(known, ", "))
	}
	if slices.Contains(texts(), name) && how == minus {
		return r, fmt.Errorf("rule %q: %s is a text, so use = or +=", text, name)
	}
	if rest, err = r.cutUnit(rest); err != nil {
		return r, fmt.Errorf("rule %q: %w", text, err)
	}
	if r.pattern, err = compile(rest); err == nil && r.pattern.NumSubexp() != 1 {
		err = fmt.Errorf("the regular expression has %d groups; put ( ) around the figure, and (?: ) around anything else", r.pattern.NumSubexp())
	}
	if err != nil {
		return r, fmt.Errorf("rule %q: %w", text, err)
	}
	return r, nil
}

// compile is a regular expression in which ^ and $ are the ends of lines.
func compile(text string) (*regexp.Regexp, error) {
	p, err := regexp.Compile("(?m)" + text)
	if err != nil {
		return nil, fmt.Errorf("not a regular expression of RE2: %w", err)
	}
	return p, nil
}

// cutUnit takes the unit off the end of a rule.
func (r *Rule) cutUnit(rest string) (string, error) {
	pattern, unit := rest, ""
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		pattern, unit = rest[:i], rest[i+1:]
	}
	_, isTime := millis()[unit]
	isTime = isTime || unit == unitTime
	isCount := unit == unitNumber || unit == unitCounts
	switch {
	case slices.Contains(texts(), r.Name):
		return rest, nil
	case IsLatency(r.Name) && isTime, !IsLatency(r.Name) && isCount:
		r.unit = unit
		return pattern, nil
	case IsLatency(r.Name):
		return "", fmt.Errorf("a latency needs a unit at the end: :ns, :us, :ms, :s, or :time for a figure with its unit such as 1.23ms")
	case isTime:
		return "", fmt.Errorf("%s is not a time, so it has no unit %q", r.Name, unit)
	}
	r.unit = unitNumber
	return rest, nil
}

// value is a matched text as a figure: latencies in ms.
func (r *Rule) value(text string) (float64, error) {
	text = strings.TrimSpace(text)
	switch r.unit {
	case unitTime:
		return parseTime(text)
	case unitCounts:
		return sum(text)
	}
	digits := text
	if grouped.MatchString(text) {
		digits = strings.ReplaceAll(text, ",", "")
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(v >= 0 && v < 1e18) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	if factor, ok := millis()[r.unit]; ok {
		v *= factor
	}
	return v, nil
}

// grouped is a number such as 1,234,567.8; 1,5 is not: in some languages its comma is a decimal point.
var grouped = regexp.MustCompile(`^\d{1,3}(,\d{3})+(\.\d+)?$`)

// parseTime reads a time with its unit, in ms.
func parseTime(text string) (float64, error) {
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time with a unit", text)
	}
	return float64(d) / 1e6, nil
}

// sum adds the members of a JSON object of counts.
func sum(members string) (total float64, err error) {
	counts := map[string]float64{}
	if err := json.Unmarshal([]byte("{"+strings.TrimRight(members, ", \n\r\t")+"}"), &counts); err != nil {
		return 0, errors.New("the text is not a JSON object of counts")
	}
	for _, n := range counts {
		total += n
	}
	return total, nil
}

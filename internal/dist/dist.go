// Package dist has times that are drawn from a distribution, as flags and files write them.
package dist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/schedule"
)

// Max is the longest time: a draw of lognormal(1s,9) could take years.
const Max = time.Hour

// Time is a time that is drawn anew each time. The zero Time is always 0.
type Time struct {
	draw func(r *rand.Rand) time.Duration // nil: always most
	mean time.Duration
	most time.Duration // longest that is drawn
}

// Hint is how a time is written, for errors.
const Hint = "write 1ms, uniform(1ms,5ms), exp(2ms), lognormal(2ms,0.5) or 0, at most 1h"

// Parse reads a time: one that is always the same, uniform(LOW,HIGH) or LOW..HIGH, exp(MEAN) or
// lognormal(MEDIAN,SIGMA); "" is 0.
func Parse(spec string) (Time, error) {
	name, args := splitCall(spec)
	var t Time
	var ok bool
	switch {
	case name == "" && len(args) == 1:
		t, ok = fixed(args[0])
	case name == "exp" && len(args) == 1:
		t, ok = exponential(args[0])
	case name == "uniform" && len(args) == 2:
		t, ok = uniform(args[0], args[1])
	case name == "lognormal" && len(args) == 2:
		t, ok = lognormal(args[0], args[1])
	}
	if !ok {
		return t, fmt.Errorf("%q is not a time; %s", spec, Hint)
	}
	return t, nil
}

// Fixed is a time that is always d.
func Fixed(d time.Duration) Time { return Time{mean: d, most: d} }

// Draw draws one time.
func (t Time) Draw(r *rand.Rand) time.Duration {
	if t.draw == nil {
		return t.most
	}
	return t.draw(r)
}

// IsFixed reports whether each draw is the same.
func (t Time) IsFixed() bool { return t.draw == nil }

// Mean is the mean of all draws.
func (t Time) Mean() time.Duration { return t.mean }

// Most is the longest time that is drawn.
func (t Time) Most() time.Duration { return t.most }

// splitCall takes name(a,b) apart; anything else is one argument without a name, and a..b is uniform.
func splitCall(spec string) (name string, args []string) {
	spec = strings.TrimSpace(spec)
	name, rest, call := strings.Cut(spec, "(")
	if !call {
		if low, high, is := strings.Cut(spec, ".."); is {
			return "uniform", []string{strings.TrimSpace(low), strings.TrimSpace(high)}
		}
		return "", []string{spec}
	}
	rest, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return name, nil
	}
	for _, a := range strings.Split(rest, ",") {
		args = append(args, strings.TrimSpace(a))
	}
	return name, args
}

// ParseSpan reads a duration from 0 to Max.
func ParseSpan(s string) (time.Duration, bool) {
	d, err := schedule.ParseDuration(s)
	return d, err == nil && d >= 0 && d <= Max
}

func fixed(s string) (Time, bool) {
	if s == "" {
		return Time{}, true
	}
	d, ok := ParseSpan(s)
	return Fixed(d), ok
}

func uniform(low, high string) (Time, bool) {
	lo, ok1 := ParseSpan(low)
	hi, ok2 := ParseSpan(high)
	if !ok1 || !ok2 || hi < lo {
		return Time{}, false
	}
	return Time{func(r *rand.Rand) time.Duration { return lo + time.Duration(r.Int64N(int64(hi-lo)+1)) }, lo + (hi-lo)/2, hi}, true
}

func exponential(mean string) (Time, bool) {
	m, ok := ParseSpan(mean)
	return cut(m, scaled(m, cutExp), func(r *rand.Rand) float64 { return r.ExpFloat64() }), ok
}

func lognormal(median, sigma string) (Time, bool) {
	m, ok := ParseSpan(median)
	s, err := strconv.ParseFloat(sigma, 64)
	if !ok || err != nil || !(s >= 0 && s <= 10) {
		return Time{}, false
	}
	t := cut(m, scaled(m, math.Exp(cutNormal*s)), func(r *rand.Rand) float64 { return math.Exp(s * r.NormFloat64()) })
	t.mean = scaled(m, math.Exp(s*s/2))
	return t, true
}

// Where tails end: beyond it is one draw of a thousand million.
const (
	cutExp    = 20 // means
	cutNormal = 6  // standard deviations
)

// cut is unit times what draw gives, at most most.
func cut(unit, most time.Duration, draw func(r *rand.Rand) float64) Time {
	return Time{func(r *rand.Rand) time.Duration { return min(most, scaled(unit, draw(r))) }, unit, most}
}

// scaled is d times x, at most Max.
func scaled(d time.Duration, x float64) time.Duration {
	return time.Duration(min(float64(d)*x, float64(Max)))
}

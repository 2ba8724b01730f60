// Package dist has times and counts that are drawn from a distribution, as flags and files write them.
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

// Of is a quantity that is drawn anew each time. The zero Of is always 0.
type Of[T ~int64] struct {
	draw func(r *rand.Rand) T // nil: always most
	mean T
	most T // largest that is drawn
}

// Time is a time that is drawn anew each time.
type Time = Of[time.Duration]

// Count is a number of things that is drawn anew each time.
type Count = Of[int64]

// Hint is how a time is written, for errors.
const Hint = "write 1ms, uniform(1ms,5ms), normal(3ms,1ms), exp(2ms), lognormal(2ms,0.5) or 0, at most 1h"

// Parse reads a time: one that is always the same, uniform(LOW,HIGH) or LOW..HIGH, normal(MEAN,DEVIATION), exp(MEAN) or
// lognormal(MEDIAN,SIGMA); "" is 0.
func Parse(spec string) (Time, error) {
	t, ok := scale[time.Duration]{ParseSpan, 0, Max}.parse(spec)
	if strings.TrimSpace(spec) == "" {
		ok = true
	}
	if !ok {
		return t, fmt.Errorf("%q is not a time; %s", spec, Hint)
	}
	return t, nil
}

// ParseCount reads a count from 1 to most, in the forms of Parse. Draws below 1 count as 1.
func ParseCount(spec string, most int64) (Count, error) {
	read := func(s string) (int64, bool) {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && n >= 1 && n <= most
	}
	c, ok := scale[int64]{read, 1, most}.parse(spec)
	if !ok {
		return c, fmt.Errorf("%q is not a number from 1 to %d; write 100, 50..200, normal(100,30), exp(100) or lognormal(100,0.5)", spec, most)
	}
	return c, nil
}

// Fixed is always x.
func Fixed[T ~int64](x T) Of[T] { return Of[T]{mean: x, most: x} }

// Draw draws one value.
func (t Of[T]) Draw(r *rand.Rand) T {
	if t.draw == nil {
		return t.most
	}
	return t.draw(r)
}

// IsFixed reports whether each draw is the same.
func (t Of[T]) IsFixed() bool { return t.draw == nil }

// Mean is the mean of all draws.
func (t Of[T]) Mean() T { return t.mean }

// Most is the largest value that is drawn.
func (t Of[T]) Most() T { return t.most }

// scale is how values are read, and their bounds.
type scale[T ~int64] struct {
	read        func(s string) (T, bool)
	least, most T
}

// parse reads a quantity.
func (s scale[T]) parse(spec string) (t Of[T], ok bool) {
	name, args := splitCall(spec)
	if len(args) == 0 {
		return t, false
	}
	first, ok := s.read(args[0])
	switch {
	case !ok:
		return t, false
	case name == "" && len(args) == 1:
		return Fixed(first), true
	case name == "exp" && len(args) == 1:
		return s.exponential(first), true
	case name == "uniform" && len(args) == 2:
		return s.uniform(first, args[1])
	case name == "normal" && len(args) == 2:
		return s.normal(first, args[1])
	case name == "lognormal" && len(args) == 2:
		return s.lognormal(first, args[1])
	}
	return t, false
}

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

func (s scale[T]) uniform(low T, high string) (t Of[T], ok bool) {
	most, ok := s.read(high)
	if !ok || most < low {
		return t, false
	}
	return Of[T]{func(r *rand.Rand) T { return low + T(r.Int64N(int64(most-low)+1)) }, low + (most-low)/2, most}, true
}

func (s scale[T]) exponential(mean T) Of[T] {
	return s.cut(mean, s.scaled(mean, cutExp), func(r *rand.Rand) float64 { return r.ExpFloat64() })
}

// normal counts draws below the least value as that, which raises the mean.
func (s scale[T]) normal(mean T, deviation string) (t Of[T], ok bool) {
	dev, ok := s.read(deviation)
	if dev == 0 {
		return Fixed(mean), ok
	}
	share := float64(dev) / float64(mean)
	if !ok || mean == 0 {
		return t, false
	}
	t = s.cut(mean, s.scaled(mean, 1+cutNormal*share), func(r *rand.Rand) float64 { return 1 + share*r.NormFloat64() })
	above := float64(mean-s.least) / float64(dev)
	t.mean = s.least + T(float64(mean-s.least)*(1+math.Erf(above/math.Sqrt2))/2+float64(dev)*math.Exp(-above*above/2)/math.Sqrt(2*math.Pi))
	return t, true
}

func (s scale[T]) lognormal(median T, sigma string) (t Of[T], ok bool) {
	x, err := strconv.ParseFloat(sigma, 64)
	if err != nil || !(x >= 0 && x <= 10) {
		return t, false
	}
	t = s.cut(median, s.scaled(median, math.Exp(cutNormal*x)), func(r *rand.Rand) float64 { return math.Exp(x * r.NormFloat64()) })
	t.mean = s.scaled(median, math.Exp(x*x/2))
	return t, true
}

// Where tails end: beyond it is one draw of a thousand million.
const (
	cutExp    = 20 // means
	cutNormal = 6  // standard deviations
)

// cut is unit times what draw gives, within the bounds.
func (s scale[T]) cut(unit, most T, draw func(r *rand.Rand) float64) Of[T] {
	return Of[T]{func(r *rand.Rand) T { return max(s.least, min(most, s.scaled(unit, draw(r)))) }, unit, most}
}

// scaled is x times f, at most the largest value.
func (s scale[T]) scaled(x T, f float64) T {
	return T(math.Round(min(float64(x)*f, float64(s.most))))
}

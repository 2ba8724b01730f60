// Package figure writes durations and other figures for people, with three significant digits:
// 255ms, 5.17ms, 940ns.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// digits is the number of significant digits that people get. Programs get all of them.
const digits = 3

// mostDigits is enough to tell any two float64 apart.
const mostDigits = 17

// Duration writes d with three significant digits.
func Duration(d time.Duration) string { return Micros(float64(d) / 1e3) }

// Time is an argument of Report.Warn, written like Duration.
func Time(name string, d time.Duration) takt.Figure { return takt.Time(name, d).As(Duration(d)) }

// Latency is an argument of Report.Warn, written like Micros.
func Latency(name string, us float64) takt.Figure { return takt.Micros(name, us).As(Micros(us)) }

// Plural writes a count and its noun: 1 loop, 2 loops.
func Plural[N int | uint64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Micros writes a latency in microseconds with three significant digits and its own unit: 940ns,
// 1.2ms, 31s.
func Micros(us float64) string { return Nearest.Micros(us) }

// MicrosNear is Micros with as many digits as are needed to tell us from a bound: 250.04ms beside
// 250ms, but 12.3ms.
func MicrosNear(us, bound float64) string { return Nearest.MicrosNear(us, bound) }

// Near writes v with three significant digits, or as many as are needed to tell it from a bound.
// A count of 1234 stays 1234.
func Near(v, bound float64) string { return Nearest.Near(v, bound) }

// Round rounds v to n significant digits.
func Round(v float64, n int) float64 { return Nearest.Round(v, n) }

// Way is the direction in which a figure is rounded. A lower limit goes down and an upper limit up: to the nearest, a
// limit would claim more than is known.
type Way int

// The ways.
const (
	Nearest Way = iota
	Down
	Up
)

// Micros is the function Micros, rounded that way; so are the others.
func (w Way) Micros(us float64) string { return w.micros(us, digits) }

// MicrosNear is the function MicrosNear.
func (w Way) MicrosNear(us, bound float64) string { return w.micros(us, w.digitsNear(us, bound)) }

// Near is the function Near.
func (w Way) Near(v, bound float64) string {
	n := w.digitsNear(v, bound)
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		n = mostDigits
	}
	return plain(w.Round(v, n))
}

// Round is the function Round.
func (w Way) Round(v float64, n int) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64) // cannot fail: it is a number
	if w == Nearest {
		return r
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	e, _ := strconv.Atoi(exponent)
	if moved := w.move(v, r, math.Pow10(e-n+1)); moved != r {
		return Round(moved, n) // the sum of two decimals has digits of its own
	}
	return r
}

// Fixed writes v with n decimals.
func (w Way) Fixed(v float64, n int) string {
	text := strconv.FormatFloat(v, 'f', n, 64)
	r, _ := strconv.ParseFloat(text, 64)
	return strconv.FormatFloat(w.move(v, r, math.Pow10(-n)), 'f', n, 64)
}

// move is near, which is v to the nearest step, or the step beside it.
func (w Way) move(v, near, step float64) float64 {
	switch {
	case w == Down && near > v:
		return near - step
	case w == Up && near < v:
		return near + step
	}
	return near
}

// digitsNear is the least number of digits, 3 or more, with which the rounded v compares with
// bound as v does.
func (w Way) digitsNear(v, bound float64) int {
	for n := digits; n < mostDigits; n++ {
		if r := w.Round(v, n); (r < bound) == (v < bound) && (r == bound) == (v == bound) {
			return n
		}
	}
	return mostDigits
}

func (w Way) micros(us float64, n int) string {
	if us <= 0 {
		return "0µs"
	}
	us = w.Round(us, n)
	for _, u := range []struct {
		name string
		us   float64
	}{{"s", 1e6}, {"ms", 1e3}, {"µs", 1}} {
		if us >= u.us {
			return plain(Round(us/u.us, n)) + u.name
		}
	}
	return plain(Round(us*1e3, n)) + "ns"
}

// plain writes v without an exponent and without zeros at its end.
func plain(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

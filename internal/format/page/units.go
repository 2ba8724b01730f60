package page

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/stored"
)

// Unit is the unit of a table's latencies. A table has one unit, so that its numbers can be
// compared at a glance.
type Unit struct {
	Name string
	us   float64 // microseconds per unit
}

// UnitFor picks a unit that gives the median about one to four digits and the slowest not
// many more.
func UnitFor(p50, slowest float64) Unit {
	switch {
	case p50 >= 10e6:
		return Unit{"s", 1e6}
	case p50 >= 100 || slowest >= 100e3:
		return Unit{"ms", 1e3}
	default:
		return Unit{"µs", 1}
	}
}

// Aligned writes a latency with four significant digits, since the histogram has three, and
// at most three decimals. Omitted decimals become spaces: the decimal points of a
// right-aligned column stay below each other.
func (u Unit) Aligned(us float64) string { return u.Limit(us, figure.Nearest) }

// Limit is Aligned, rounded in a direction.
func (u Unit) Limit(us float64, way figure.Way) string {
	v := us / u.us
	n := decimals(v)
	s := way.Fixed(v, n)
	if n == 0 {
		s += " "
	}
	return s + strings.Repeat(" ", 3-n)
}

// AlignedCount aligns a count with the integers of a column of latencies.
func AlignedCount(n uint64) string { return Count(n) + "    " }

func decimals(v float64) int {
	switch {
	case v < 9.9995:
		return 3
	case v < 99.995:
		return 2
	case v < 999.95:
		return 1
	default:
		return 0
	}
}

// Short writes v with at most three significant digits, without trailing zeros.
func Short(v float64) string {
	return TrimZeros(strconv.FormatFloat(v, 'f', max(0, decimals(v)-1), 64))
}

// Rate writes operations per second with at most six digits and three decimals.
func Rate(perS float64) string {
	n := 3
	for limit := 1000.0; n > 0 && perS >= limit; limit *= 10 {
		n--
	}
	for limit := 0.1; perS > 0 && perS < limit && n < 9; limit /= 10 { // 1/h is not 0/s
		n++
	}
	return TrimZeros(strconv.FormatFloat(perS, 'f', n, 64)) + "/s"
}

// RoundRate writes a rate of rounds.
func RoundRate(perS float64) string { return strings.TrimSuffix(Rate(perS), "/s") + " rounds/s" }

// Percent writes part ÷ whole with two decimals. 100 % means all: what is less is 99.99 % at most.
// A part above 0 but below 0.01 % is shown as such.
func Percent(part, whole float64) string {
	p := 0.0
	if whole > 0 {
		p = math.Round(part/whole*1e4) / 100
	}
	if p == 100 && part < whole {
		p = 99.99
	}
	if part > 0 && (whole <= 0 || part/whole < 1e-4) {
		return "< 0.01 %"
	}
	return strconv.FormatFloat(p, 'f', 2, 64) + " %"
}

// TrimZeros removes zeros at the end of decimals.
func TrimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Size writes bytes in binary units, in the form of flags.
func Size(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for ; n >= 1024 && len(units) > 1; units = units[1:] {
		n /= 1024
	}
	return Short(n) + NoBreak + units[0]
}

// Span writes seconds in the form of flags: 1m30s.
func Span(s float64) string {
	d := Seconds(s).Round(time.Millisecond).String()
	if strings.HasSuffix(d, "m0s") {
		d = strings.TrimSuffix(d, "0s")
	}
	if strings.HasSuffix(d, "h0m") {
		d = strings.TrimSuffix(d, "0m")
	}
	return d
}

// Plural is figure.Plural.
func Plural(n int, noun string) string { return figure.Plural(n, noun) }

// Float writes v with all its digits, Count a count.
func Float(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
func Count(n uint64) string  { return strconv.FormatUint(n, 10) }

// Seconds converts a report's seconds to a duration.
func Seconds(s float64) time.Duration {
	return time.Duration(math.Round(s * float64(time.Second)))
}

// Round3 rounds to three digits: a figure with an interval does not permit more.
func Round3(v float64) float64 { return figure.Round(v, 3) }

// Ends rounds the ends of an interval to three digits without narrowing the interval.
func Ends(low, high float64) (down, up float64) {
	return figure.Down.Round(low, 3), figure.Up.Round(high, 3)
}

// Amount writes a figure with its unit; bytes have decimal units.
func Amount(u stored.Unit, v float64) string {
	switch u {
	case stored.Microseconds:
		return figure.Micros(v)
	case stored.Milliseconds:
		return figure.Micros(v * 1e3)
	case stored.Percent:
		return Percent(v, 100)
	case stored.Ratio:
		return Percent(v, 1)
	case stored.PerSecond:
		return Rate(v)
	case stored.Bytes:
		units := []string{"B", "kB", "MB", "GB", "TB"}
		for ; v >= 999.5 && len(units) > 1; units = units[1:] {
			v /= 1000
		}
		return Short(v) + " " + units[0]
	case stored.BytesPerSecond:
		return Amount(stored.Bytes, v) + "/s"
	default:
		return Short(v)
	}
}

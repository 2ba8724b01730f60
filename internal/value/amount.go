package value

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseNumber reads 1, -1, 0.5 or 1e3, but neither NaN nor infinity nor 0x10.
func ParseNumber(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && strings.Trim(s, "+-.eE0123456789") == ""
}

// units are the units of sizes in bytes, without the B or b at their end.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"m", 1e6}, {"G", 1e9}, {"g", 1e9}, {"T", 1e12},
}

// ParseSize reads a number of bytes. kB, MB, GB and TB or k, M, G and T are decimal, as in
// hey-apm; KiB, MiB, GiB and TiB or Ki, Mi, Gi and Ti are binary.
func ParseSize(s string) (bytes float64, ok bool) {
	if strings.HasSuffix(s, "B") || strings.HasSuffix(s, "b") {
		s = s[:len(s)-1]
	}
	factor := 1.0
	for _, u := range units {
		if digits, found := strings.CutSuffix(s, u.suffix); found {
			s, factor = digits, u.bytes
			break
		}
	}
	v, ok := ParseNumber(strings.TrimSpace(s))
	return v * factor, ok
}

// mostBytes is the largest size of a flag, 1 PiB, which every int can contain.
const mostBytes = 1 << 50

// size is a flag of bytes. It prints itself without a unit, so that no default changes its form.
type size[T int | int64] struct{ p *T }

func (s size[T]) Set(text string) error {
	n, ok := ParseSize(text)
	if !ok || n != math.Trunc(n) || n < 0 || n > mostBytes {
		return fmt.Errorf("%.60q is not a size; use bytes, KiB or MiB, such as 64KiB", text)
	}
	*s.p = T(n)
	return nil
}

func (s size[T]) String() string { return strconv.FormatInt(int64(*s.p), 10) }
func (size[T]) Type() string     { return "size" }

// Shown is a default in help: 10GiB instead of 10737418240.
func (s size[T]) Shown() string {
	n := int64(*s.p)
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return s.String()
}
func (size[T]) Names(string) []Name { return nil }

// Size is a number of bytes, 0 or more, that ParseSize reads.
func Size[T int | int64](p *T) Flag { return size[T]{p} }

// ParseShare reads 5% as 5 percent, and a number without the sign as v.
func ParseShare(s string) (v float64, percent, ok bool) {
	digits, percent := strings.CutSuffix(s, "%")
	v, ok = ParseNumber(strings.TrimSpace(digits))
	return v, percent, ok
}

// share is a flag of a share from least to most.
type share struct {
	p           *float64
	hundredth   float64 // 1 % is 1/hundredth in *p
	bare        float64 // a bare 1 is 1/bare in *p; 0: a number needs the sign
	least, most float64 // of *p
	hint        string
}

func (s share) Set(text string) error {
	v, percent, ok := ParseShare(text)
	if percent {
		v /= s.hundredth
	} else {
		v /= s.bare
	}
	if !ok || !percent && s.bare == 0 || v < s.least || v > s.most {
		return fmt.Errorf("%.60q is not a %s", text, s.hint)
	}
	*s.p = v
	return nil
}

func (s share) String() string {
	switch {
	case *s.p != 0:
	case s.least > 0:
		return "" // not given
	default:
		return "0"
	}
	return strconv.FormatFloat(*s.p*s.hundredth, 'g', 12, 64) + "%" // 12 digits: 0.07*100 is above 7
}

func (share) Type() string        { return "share" }
func (share) Names(string) []Name { return nil }

// Share is a share from 0 to 1, written as 1% or 0.01.
func Share(p *float64) Flag {
	return share{p, 100, 1, 0, 1, "share; write 1% or 0.01, at most 100%"}
}

// Sample is a share above 0 and up to 1, written as 10% or 10. *p is 0 if the flag is not given.
func Sample(p *float64) Flag {
	return share{p, 100, 100, math.SmallestNonzeroFloat64, 1, "share; write 10%"}
}

// Percent is a share of any size, written as 5%.
func Percent(p *float64) Flag { return percentage(p, 100) }

// Points is Percent where *p is in percent: 0.1 for 0.1%.
func Points(p *float64) Flag { return percentage(p, 1) }

func percentage(p *float64, hundredth float64) Flag {
	return share{p, hundredth, 0, math.Inf(-1), math.Inf(1), "percentage; write it as 5%"}
}

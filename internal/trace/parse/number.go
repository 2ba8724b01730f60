package parse

import (
	"math"
	"strconv"
	"time"
)

// Decimal reads a number of units that is not negative; exactly, unless it has an exponent.
func Decimal(v []byte, unit time.Duration) (time.Duration, bool) {
	var whole, fraction int64
	n := 0
	for ; n < len(v) && IsDigit(v[n]); n++ {
		if whole > math.MaxInt64/int64(unit)/10-10 {
			return 0, false
		}
		whole = whole*10 + int64(v[n]-'0')
	}
	if n == 0 {
		return 0, false
	}
	if n < len(v) && v[n] == '.' {
		scale := int64(unit)
		for n++; n < len(v) && IsDigit(v[n]); n++ {
			scale /= 10
			fraction += int64(v[n]-'0') * scale
		}
	}
	if n == len(v) {
		return time.Duration(whole*int64(unit) + fraction), true
	}
	f, err := strconv.ParseFloat(string(v), 64) // 9.3e-05
	if err != nil || !(f >= 0 && f*float64(unit) < math.MaxInt64) {
		return 0, false
	}
	return time.Duration(f * float64(unit)), true
}

// Digits is the decimal number in v, or -1 if v has other characters than digits.
func Digits(v []byte) int {
	n := 0
	for _, b := range v {
		if !IsDigit(b) {
			return -1
		}
		n = n*10 + int(b-'0')
	}
	return n
}

// IsDigit reports whether b is 0 … 9.
func IsDigit(b byte) bool { return b >= '0' && b <= '9' }

// MonthOf is the number of Jan … Dec, -1 for anything else.
func MonthOf(v []byte) int {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for i := 0; i < len(names); i += 3 {
		if names[i] == v[0] && names[i+1] == v[1] && names[i+2] == v[2] {
			return i/3 + 1
		}
	}
	return -1
}

// HexOf is the hexadecimal number in v, or -1 if v is not one.
func HexOf(v []byte) int {
	n := 0
	for _, b := range v {
		switch {
		case IsDigit(b):
			n = n<<4 | int(b-'0')
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			n = n<<4 | int(b|0x20-'a'+10)
		default:
			return -1
		}
	}
	return n
}

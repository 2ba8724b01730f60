package schedule

import (
	"math"
	"strconv"
	"strings"
)

const rateHint = "give a rate such as 500/s, 30/m, 10/h, 2k/s, 1.5M/s, or max for as fast as possible"

// ParseRate accepts "500/s", "30/m", "10/h", "0.5/s", "2k/s", "1M/s", "500" (per second),
// vegeta's "500/1s", and "max", and returns operations per second. max is +Inf, a closed
// loop. 0, a negative number or a rate outside MinRate … MaxRate is an *InputError.
func ParseRate(s string) (float64, error) {
	r, _, err := parseRate(s)
	if err != nil || math.IsInf(r, 1) {
		return r, err
	}
	if cause, hint := rateFault(r); cause != "" {
		return 0, &InputError{What: "rate", Input: s, Cause: cause, Hint: hint}
	}
	return r, nil
}

// FormatRate writes a rate per second in a form for ParseRate: "500/s", "max".
func FormatRate(perSecond float64) string {
	if math.IsInf(perSecond, 1) {
		return "max"
	}
	return strconv.FormatFloat(perSecond, 'f', -1, 64) + "/s"
}

// parseRate returns the rate per second, 0 and max included, and its unit ("" if there is
// none). ParseFloat receives the factor as an exponent, so only a division rounds once more:
// 2.01k is 2010, not 2.01 × 1000 = 2009.9999999999998.
func parseRate(s string) (perSecond float64, unit string, err error) {
	fault := func(cause, hint string) (float64, string, error) {
		return 0, "", &InputError{What: "rate", Input: s, Cause: cause, Hint: hint}
	}
	if s == "max" {
		return math.Inf(1), "", nil
	}
	number, unit, slash := strings.Cut(s, "/")
	unit = strings.TrimPrefix(unit, "1") // vegeta's 50/1s
	seconds := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	if seconds == 0 || slash && unit == "" { // also for "5/1"
		return fault("unknown unit after the slash", "give /s, /m or /h")
	}
	digits, exponent := factor(number)
	switch {
	case s == "":
		return fault("empty", rateHint)
	case isNumber(strings.TrimPrefix(digits, "-")) && digits[0] == '-':
		return fault("the rate is negative", "give a rate above 0 such as 500/s")
	case strings.HasSuffix(number, "m") && isNumber(number[:len(number)-1]):
		return fault("the letter m is no factor", "give M for a million, or /m for a minute")
	case !isNumber(digits):
		return fault("not a number", rateHint)
	}
	r, err := strconv.ParseFloat(digits+exponent, 64)
	if err != nil {
		return fault("beyond all bounds", "at most 1000M/s")
	}
	return r / seconds, unit, nil
}

// factor removes k (thousand) or M (million) from a number.
func factor(s string) (digits, exponent string) {
	if d, ok := strings.CutSuffix(s, "k"); ok {
		return d, "e3"
	}
	if d, ok := strings.CutSuffix(s, "M"); ok {
		return d, "e6"
	}
	return s, ""
}

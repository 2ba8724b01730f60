package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// InputError says why an input is wrong and what to give instead.
type InputError struct {
	What  string // the kind of input: rate, ramp, stage, duration
	Input string // as given
	Cause string // what is wrong with it
	Hint  string // what to give instead
}

// Error is one sentence: what, the input in quotes, the cause, the hint. It shows the first
// 64 bytes of a long input.
func (e *InputError) Error() string {
	in := e.Input
	if len(in) > 64 {
		in = in[:64] + "…"
	}
	return fmt.Sprintf("%s %q: %s; %s", e.What, in, e.Cause, e.Hint)
}

const durationHint = "give seconds or a number with units, such as 30, 0.5, 500ms, 1m30s or 7d"

// ParseDuration accepts the durations of time.ParseDuration, numbers without a unit (seconds)
// and days of 24 hours: "30" is 30 s, "0.5" is 500 ms, "7d" is 168 h. A negative duration, or
// one beyond 292 years, is an *InputError.
func ParseDuration(s string) (time.Duration, error) {
	fault := func(cause, hint string) (time.Duration, error) {
		return 0, &InputError{What: "duration", Input: s, Cause: cause, Hint: hint}
	}
	text := s
	if days, ok := strings.CutSuffix(s, "d"); ok && isNumber(strings.TrimPrefix(days, "-")) {
		n, _ := strconv.ParseFloat(days, 64) // valid number: beyond the range it is Inf, which ParseDuration refuses
		text = strconv.FormatFloat(n*24, 'f', -1, 64) + "h"
	} else if isNumber(strings.TrimPrefix(s, "-")) {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	switch {
	case s == "":
		return fault("empty", durationHint)
	case err != nil && isNumber(strings.TrimPrefix(strings.TrimSuffix(text, "s"), "-")):
		return fault("beyond 292 years", "give a shorter one")
	case err != nil && isNumber(s[len(s)-1:]) && strings.ContainsAny(s[:1], "-.0123456789"):
		return fault("the last number has no unit", "give "+strconv.Quote(cut(s)+"s")+" if seconds are meant")
	case err != nil:
		return fault("not a duration, or beyond 292 years", durationHint)
	case d < 0:
		return fault("negative", "give 0 or more")
	case d == 0 && strings.ContainsAny(s, "123456789"):
		return fault("shorter than a nanosecond", durationHint)
	}
	return d, nil
}

// cut shortens input for a hint.
func cut(s string) string { return s[max(0, len(s)-32):] }

// isNumber reports whether s is a decimal number: digits, at most one point.
func isNumber(s string) bool {
	digits := strings.Replace(s, ".", "", 1)
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

package takt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// WarningCode says what a warning is about. Codes are an interface: scripts compare them.
type WarningCode string

// Warning is a possible problem with the figures.
type Warning struct {
	Code    WarningCode `json:"code"`
	Message string      `json:"message"`          // a sentence with the figures and the advice
	Fields  []Field     `json:"fields,omitempty"` // figures of the message, in its order; merge ranks shards by the first
	Advice  string      `json:"advice,omitempty"` // part of the message: what to do, or how to read the figures
}

// Field is a figure of a warning.
type Field struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  Unit    `json:"unit"`
}

// Figure is an argument of Report.Warn that becomes a field. The verb of the format applies to the argument
// that made it.
type Figure struct {
	Field
	shown any
}

// Format implements fmt.Formatter.
func (f Figure) Format(s fmt.State, verb rune) { fmt.Fprintf(s, fmt.FormatString(s, verb), f.shown) }

// As is f, shown as another value.
func (f Figure) As(shown any) Figure { return Figure{f.Field, shown} }

// Number is a count.
func Number[N int | int32 | int64 | uint32 | uint64 | float64](name string, n N) Figure {
	return Figure{Field{name, float64(n), UnitCount}, n}
}

// Percent is a share: 50 is a half.
func Percent(name string, p float64) Figure { return Figure{Field{name, p, UnitPercent}, p} }

// Size is a size in bytes.
func Size[N int | int64 | uint64](name string, n N) Figure {
	return Figure{Field{name, float64(n), UnitBytes}, n}
}

// PerSecond is a rate.
func PerSecond(name string, rate float64) Figure {
	return Figure{Field{name, rate, UnitPerSecond}, rate}
}

// Time is a length of time.
func Time(name string, d time.Duration) Figure {
	return Figure{Field{name, float64(d) / 1e3, UnitMicroseconds}, d}
}

// Micros is a latency in microseconds.
func Micros(name string, us float64) Figure { return Figure{Field{name, us, UnitMicroseconds}, us} }

// Seconds is a length of time in seconds.
func Seconds(name string, s float64) Figure { return Figure{Field{name, s, UnitSeconds}, s} }

// Advice is an argument of Report.Warn that becomes the advice of the warning. Settings in it are tokens.
type Advice string

// Tokens in an Advice. The program that made the run has its own words for them.
const (
	GiveRate   Advice = "{give rate}"
	SpreadLoad Advice = "{spread load}"
)

// Words are how a program calls the tokens of an Advice; "": as takt does, by its flags.
type Words struct{ GiveRate, SpreadLoad string }

// say puts these words in the place of the tokens.
func (w Words) say(text string) string {
	return strings.NewReplacer(
		string(GiveRate), cmp.Or(w.GiveRate, "give --rate"),
		string(SpreadLoad), cmp.Or(w.SpreadLoad, "spread the run with --shard"),
	).Replace(text)
}

// Warning makes a warning. format and args are those of fmt.Sprintf.
func (w Words) Warning(code WarningCode, format string, args ...any) Warning {
	made := Warning{Code: code, Message: w.say(fmt.Sprintf(format, args...))}
	for _, arg := range args {
		switch arg := arg.(type) {
		case Figure:
			made.Fields = append(made.Fields, arg.Field)
		case Advice:
			made.Advice = w.say(string(arg))
		}
	}
	return made
}

// Warn adds a warning. format and args are those of fmt.Sprintf.
func (r *Report) Warn(code WarningCode, format string, args ...any) {
	r.Warnings = append(r.Warnings, r.Words.Warning(code, format, args...))
}

// Warned reports whether r has a warning with this code.
func (r *Report) Warned(code WarningCode) bool {
	return slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Code == code })
}

package part

import (
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
)

// Value is what a cell says. The zero value is an empty cell.
type Value struct {
	kind     kind
	v, whole float64 // of a range, its ends
	text     string
	Mark     string // beside the value, so that digits remain below each other
	Tone     Tone
	Strong   bool   // bold in Markdown
	Beside   *Value // behind the value in Markdown, where other outputs have a column for it
}

type kind uint8

const (
	empty kind = iota
	unknown
	words
	quoted
	written
	count
	latency
	bound
	share
	between
)

// Words is a text; Quoted is one of others, such as an error, which Markdown shows literally.
func Words(s string) Value  { return Value{kind: words, text: s} }
func Quoted(s string) Value { return Value{kind: quoted, text: s} }

// Figure is a figure with its unit, as takt writes it in all outputs; Unknown is a dash.
func Figure(s string) Value { return Value{kind: written, text: s} }
func Unknown() Value        { return Value{kind: unknown} }

// Known is v, or unknown.
func Known(known bool, v Value) Value {
	if known {
		return v
	}
	return Unknown()
}

// Count is a number of things, Latency a time in µs, Bound an upper bound of latencies, and Ratio a part of a
// whole.
func Count(n uint64) Value               { return Value{kind: count, v: float64(n)} }
func Latency(us float64) Value           { return Value{kind: latency, v: us} }
func Bound(us float64) Value             { return Value{kind: bound, v: us} }
func Ratio(part, whole float64) Value    { return Value{kind: share, v: part, whole: whole} }
func (v Value) Marked(mark string) Value { v.Mark = mark; return v }

// Range is from one time in µs to another, in parentheses.
func Range(low, high float64) Value { return Value{kind: between, v: low, whole: high} }

// Toned is the value with a tone.
func (v Value) Toned(t Tone) Value { v.Tone = t; return v }

// String is the value by itself, without its mark.
func (v Value) String() string {
	switch v.kind {
	case unknown:
		return "–"
	case words, quoted:
		return page.Clean(v.text)
	case written:
		return v.text
	case count:
		return page.Count(uint64(v.v))
	case latency:
		return figure.Micros(v.v)
	case bound:
		return "≤ " + figure.Micros(v.v)
	case between:
		return "(" + figure.Down.Micros(v.v) + "–" + figure.Up.Micros(v.whole) + ")"
	case share:
		return page.Percent(v.v, v.whole)
	}
	return ""
}

// boundWidth is the width of an aligned bound.
const boundWidth = 11

// in is the value in a table whose latencies have a unit. Omitted decimals are spaces.
func (v Value) in(u page.Unit) string {
	switch {
	case u.Name == "":
	case v.kind == latency:
		return u.Aligned(v.v)
	case v.kind == between:
		return "(" + strings.TrimSpace(u.Limit(v.v, figure.Down)) + "–" + strings.TrimSpace(u.Limit(v.whole, figure.Up)) + ")"
	case v.kind == bound:
		return "≤ " + page.Right(u.Aligned(v.v), boundWidth)
	}
	return v.String()
}

// markdown is the value in a cell of Markdown.
func (v Value) markdown(u page.Unit) string {
	s := strings.TrimSpace(v.in(u))
	if v.Beside != nil {
		s += " " + v.Beside.markdown(u)
	}
	if v.kind == quoted {
		return page.Cell(v.text)
	}
	s = page.Escape(s + v.Mark)
	if v.Strong {
		s = "**" + s + "**"
	}
	return s
}

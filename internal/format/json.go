package format

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// writeJSON writes the indented report.
func writeJSON(w io.Writer, r *takt.Report) error {
	return encodeReport(w, r, "  ", func(r *takt.Report) any { return complete(r) })
}

// ndjsonWriter writes one object a line, with one key that says what it is, instead of a
// field "type". So the value of "summary" equals the report of the format json and has the
// same schema.
type ndjsonWriter struct{ w io.Writer }

// Line is one line of the format ndjson. Exactly one member is set.
type Line struct {
	Interval *takt.Interval `json:"interval,omitempty"`
	Summary  *takt.Report   `json:"summary,omitempty"`
}

func openNDJSON(w io.Writer, _ takt.Report) (Writer, error) { return ndjsonWriter{w}, nil }

func (n ndjsonWriter) Interval(iv takt.Interval, _ timeline.Lent) error {
	return encode(n.w, Line{Interval: &iv}, "")
}

func (n ndjsonWriter) Close(r *takt.Report) error {
	return encodeReport(n.w, r, "", func(r *takt.Report) any { return Line{Summary: complete(r)} })
}

// complete copies r with empty lists instead of nil, so that readers of JSON need not
// distinguish null from [].
func complete(r *takt.Report) *takt.Report {
	c := *r
	c.Command = list(c.Command)
	c.Errors = list(c.Errors)
	c.Intervals = list(c.Intervals)
	c.Warnings = list(c.Warnings)
	c.Labels = dict(c.Labels)
	c.Variables = dict(c.Variables)
	c.Latency = dict(c.Latency)
	c.Status = dict(c.Status)
	c.Extra = dict(c.Extra)
	return &c
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func dict[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// encodeReport writes the value of r as encode does. JSON has no NaN: see document.Finite.
func encodeReport(w io.Writer, r *takt.Report, indent string, value func(*takt.Report) any) error {
	b, err := document.Finite(r, func(r *takt.Report) ([]byte, error) { return marshal(value(r), indent) })
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// encode writes v as one JSON value and a line break, in one Write.
func encode(w io.Writer, v any, indent string) error {
	b, err := marshal(v, indent)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // URLs are easier to read with their &
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}

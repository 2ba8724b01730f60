package format

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/taktload/takt/pkg/takt"
)

// jsonWriter writes the indented report after the run.
type jsonWriter struct{ w io.Writer }

func openJSON(w io.Writer, _ takt.Report) (Writer, error) { return jsonWriter{w}, nil }

func (j jsonWriter) Interval(takt.Interval) error { return nil }

func (j jsonWriter) Close(r *takt.Report) error {
	full := complete(r)
	return encode(j.w, full, full, "  ")
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

func (n ndjsonWriter) Interval(iv takt.Interval) error {
	return encode(n.w, Line{Interval: &iv}, nil, "")
}

func (n ndjsonWriter) Close(r *takt.Report) error {
	full := complete(r)
	return encode(n.w, Line{Summary: full}, full, "")
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

// encode writes v as one JSON value and a line break, in one Write. JSON has no NaN, but a
// report with NaN (from a driver's own section, say) is better than none after an hour's run.
// So encode replaces such numbers, and adds a warning that names them to r, a copy that v
// contains.
func encode(w io.Writer, v any, r *takt.Report, indent string) error {
	b, err := marshal(v, indent)
	if _, odd := err.(*json.UnsupportedValueError); odd && r != nil {
		makeFinite(r)
		b, err = marshal(v, indent)
	}
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

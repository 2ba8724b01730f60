// Package document is a report as bytes: as JSON, as the stores keep it, and within an HTML page.
package document

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/pkg/takt"
)

// Packed is a report as it is kept. Run and Report are made of what Unpack will return, in
// which a number of the extra section is a float64 whatever it was before.
type Packed struct {
	Gzip   []byte
	Run    stored.Run
	Report *takt.Report // without intervals, which are most of it
}

// Pack packs the reports. One that JSON cannot represent, or without an id, is an error.
func Pack(reports ...*takt.Report) ([]Packed, error) {
	all := make([]Packed, 0, len(reports))
	z := gzip.NewWriter(nil) // one for all: it wants 800 KB
	for _, r := range reports {
		text, err := Encode(r)
		if err != nil {
			return nil, err
		}
		again, err := Parse(text)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		z.Reset(&b)
		z.Write(text) // into memory: cannot fail
		z.Close()
		again.Intervals, again.ServerSeconds = nil, nil
		all = append(all, Packed{b.Bytes(), stored.RunOf(again), again})
	}
	return all, nil
}

// Encode is r as JSON. Numbers that JSON cannot represent are replaced: see Finite.
func Encode(r *takt.Report) ([]byte, error) {
	text, err := Finite(r, func(r *takt.Report) ([]byte, error) { return json.Marshal(r) })
	if err != nil {
		return nil, fmt.Errorf("the report of run %q cannot be kept: %w", r.ID, err)
	}
	return text, nil
}

// Unpack is the inverse of Pack. Its error is fault.ErrCorrupt, or fault.ErrTooNew,
// of the store at where.
func Unpack(packed []byte, where string) (*takt.Report, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, damaged(where, err)
	}
	text, err := io.ReadAll(io.LimitReader(z, audit.MaxDocument+1))
	switch {
	case err != nil:
		return nil, damaged(where, err)
	case len(text) > audit.MaxDocument:
		return nil, damaged(where, fmt.Errorf("a report of more than %d MiB", audit.MaxDocument>>20))
	}
	r, err := Parse(text)
	if err != nil && !errors.Is(err, fault.ErrTooNew) {
		return nil, damaged(where, err)
	}
	return r, err
}

func damaged(where string, cause error) error {
	return &fault.Error{Kind: fault.ErrCorrupt, Store: where, Cause: cause, Hint: "the other runs may still be exported"}
}

// Parse reads a report of JSON. What is of no such form is an error, and so is the
// report of a newer takt, fault.ErrTooNew. Integers above 2^53 of the variables and
// the extra section stay exact, as json.Number: seeds may be so large.
func Parse(text []byte) (*takt.Report, error) {
	var r takt.Report
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("it is not a report: %w", err)
	}
	switch {
	case r.SchemaVersion < 1 || r.ID == "":
		return nil, errors.New("it is not a report: it has no schema_version and id; give what -o json or takt store export wrote")
	case r.SchemaVersion > takt.SchemaVersion:
		return nil, &fault.Error{Kind: fault.ErrTooNew, Store: r.ID, Hint: fmt.Sprintf("it has schema_version %d, and this takt knows %d; use a newer takt", r.SchemaVersion, takt.SchemaVersion)}
	}
	plain(r.Variables)
	plain(r.Extra)
	return &r, nil
}

// Variables reads the variables of a report, as Parse does.
func Variables(text []byte) (map[string]any, error) {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(&v)
	plain(v)
	return v, err
}

// plain makes float64 of the numbers in v that one holds exactly.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = plain(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = plain(inner)
		}
	case json.Number:
		f, err := v.Float64()
		again, _ := json.Marshal(f)
		if err == nil && (string(again) == v.String() || strings.ContainsAny(v.String(), ".eE")) {
			return f
		}
	}
	return v
}

const stamp = "2006-01-02T15:04:05.000000000Z07:00"

// Stamp is an instant as text that sorts by time, in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(stamp) }

// Time is the inverse of Stamp.
func Time(text string) (time.Time, error) { return time.Parse(stamp, text) }

// Selects says whether r has the group and the labels of q and matches: what a store cannot
// ask its database for.
func Selects(q stored.Query, r *stored.Run) bool {
	if q.Group != "" && r.Group != q.Group {
		return false
	}
	for name, want := range q.Labels {
		if v, ok := r.Labels[name]; !ok || v != want {
			return false
		}
	}
	return q.Match == nil || q.Match(r)
}

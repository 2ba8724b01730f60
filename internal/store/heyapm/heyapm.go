// Package heyapm reads the report documents of hey-apm's shell, so that its history can
// be compared with takt's runs.
package heyapm

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Is says whether text is such a document.
func Is(text []byte) bool {
	var d struct {
		ReportID      string          `json:"report_id"`
		SchemaVersion json.RawMessage `json:"schema_version"`
	}
	return json.Unmarshal(text, &d) == nil && d.ReportID != "" && d.SchemaVersion == nil
}

// Parse gives the report that the document says. It has no histograms: hey-apm had
// none.
func Parse(text []byte) (*takt.Report, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("it is not a report of hey-apm: %w", err)
	}
	started, err := d.started()
	if err = errors.Join(append(d.faults(), err)...); err != nil {
		return nil, err
	}
	r := &takt.Report{
		SchemaVersion: takt.SchemaVersion,
		ID:            d.ReportID,
		Tool:          takt.Tool{Name: "hey-apm", Version: d.Reporter},
		Kind:          "apm",
		Labels:        d.labels(),
		Variables:     d.variables(),
		StartedAt:     started,
		DurationS:     seconds(d.elapsed()),
		Schedule:      takt.Schedule{Profile: "closed", Shard: takt.WholeShard},
		Counts:        d.counts(),
		Generator:     takt.Generator{HostClass: d.Host},
		Verdict:       takt.Valid,
		Extra:         d.extra(),
	}
	r.Warn(warn.ClosedLoop, "the run is one of hey-apm: a closed loop, without response times")
	if d.Cancelled {
		r.Warn(warn.Cancelled, "the run was cancelled before its end")
	}
	r.ComparabilityKey = "hey-apm:" + stored.NewSettings(r.Variables, d.Host).Hash
	r.Rate.Achieved = float64(r.Counts.OK+r.Counts.Failed) / r.DurationS
	return r, nil
}

// faults are what no report can be made without, all of them.
func (d *document) faults() (all []error) {
	if d.ReportID == "" {
		all = append(all, errors.New("the document has no report_id; give a report of hey-apm's shell"))
	}
	if d.elapsed() <= 0 {
		all = append(all, errors.New("the document has neither elapsed nor duration above 0; give a report of hey-apm's shell"))
	}
	return all
}

// elapsed is how long the run took, in ns. It divides the rates.
func (d *document) elapsed() int64 {
	if d.Elapsed > 0 {
		return d.Elapsed
	}
	return d.Duration
}

// dateForm is hey-apm's, whose days have one digit or two.
const dateForm = "Mon, 2 Jan 2006 15:04:05 -0700"

// started is the date of the report less the time that the run took: hey-apm dates it
// at the end.
func (d *document) started() (time.Time, error) {
	var ended time.Time
	var err error
	switch {
	case d.Timestamp > 0:
		ended = time.Unix(d.Timestamp, 0)
	case d.At != "":
		ended, err = time.Parse(time.RFC3339Nano, d.At)
	default:
		ended, err = time.Parse(dateForm, d.Date)
	}
	if err != nil {
		return ended, fmt.Errorf("the document has no date: timestamp, @timestamp as of ISO 8601, or report_date as %s: %w", dateForm, err)
	}
	return ended.Add(-time.Duration(d.elapsed())).UTC(), nil
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// first is the first that the document has.
func first[T any](of ...*T) *T {
	for _, p := range of {
		if p != nil {
			return p
		}
	}
	return nil
}

// Package format writes reports: for people, for programs, and for tools that read
// HdrHistogram's files. A format needs only the report, so every output can be made again
// from a stored run. The exceptions are row outputs, with a row per operation, which no
// report has.
package format

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// Format is one way to write a report.
type Format struct {
	Name  string // as in -o NAME=PATH
	Short string // description for --help
	// Open begins an output. head has only the fields that are known before the run, see
	// Head. A Writer does not close w.
	Open  func(w io.Writer, head takt.Report) (Writer, error)
	Rows  bool // the Writer is a RowWriter, and the output cannot be replayed
	Asked bool // the Writer is an AskedWriter
}

// During reports whether the format writes during the run, not only at its end.
func (f Format) During() bool {
	return f.Rows || f.Name == "ndjson" || f.Name == "csv" || f.Name == "hlog"
}

// Writer writes a run during the run. Interval writes before it returns, so a killed run
// loses only its last second.
type Writer interface {
	// Interval receives the second that has just passed, and its histograms for all who look into it; nil:
	// nobody else does.
	Interval(takt.Interval, timeline.Lent) error
	// Close receives the final report and finishes the output.
	Close(*takt.Report) error
}

// RowWriter is the Writer of a row output. Its Interval does nothing.
type RowWriter interface {
	Writer
	// Samples writes rows, in the order given, before it returns. phases are the
	// names of Sample.Phases, the same for the whole run.
	Samples(phases []string, list []takt.Sample) error
}

// AskedWriter is the RowWriter of an output with the request of each operation. Its Samples
// does nothing.
type AskedWriter interface {
	RowWriter
	// Records writes rows, in the order given, before it returns.
	Records(list []trace.Record) error
}

// Table lists the formats in the order of help.
func Table() []Format {
	return []Format{
		Text(false),
		{Name: "json", Short: "the report, as schema/report-v1.schema.json describes it", Open: whole(writeJSON)},
		{Name: "ndjson", Short: `{"interval":{…}} every second, {"summary":{the report}} at the end`, Open: openNDJSON},
		{Name: "csv", Short: "one row every second; without a path: samples, as in hey", Open: openCSV},
		{Name: "hgrm", Short: "percentile spectrum of the response time, ms, for hdrhistogram.org", Open: whole(writeHGRM)},
		{Name: "quantiles", Short: "table of the response time's quantiles and counts, as in wrk3", Open: whole(writeQuantiles)},
		{Name: "hlog", Short: "HdrHistogram log: response and service time of every second", Open: openHLog},
		{Name: "markdown", Short: "a summary for a comment on GitHub or a job's summary", Open: whole(writeMarkdown)},
		{Name: "html", Short: "one HTML page with charts and the whole report inside", Open: whole(html.Report)},
		{Name: "card", Short: "a picture of 1200 × 630 for chats and slides (SVG): the verdict, the latency curve, key figures", Open: whole(writeCard)},
		{Name: "junit", Short: "JUnit XML for CI: a test case for the verdict and for each assertion", Open: whole(writeJUnit)},
		{Name: samples, Short: "one row per operation, in hey's columns", Open: openSamples, Rows: true},
		Load(),
	}
}

// Stdout is the path that means standard output.
const Stdout = "-"

// samples is the format that hey calls csv.
const samples = "samples"

// Parse reads FORMAT=PATH; FORMAT alone goes to Stdout. csv alone is samples, as hey's users
// expect.
func Parse(s string) (Format, string, error) {
	name, path, given := strings.Cut(s, "=")
	if !given {
		path = Stdout
	}
	if s == "csv" {
		name = samples
	}
	for _, f := range Table() {
		switch {
		case f.Name != name:
		case path == "":
			return Format{}, "", fmt.Errorf("output %q has no path; write %s=FILE, or %s=- for standard output", s, name, name)
		default:
			return f, path, nil
		}
	}
	return Format{}, "", fmt.Errorf("unknown format %q; use one of %s%s", name, strings.Join(Names(), ", "), hint(s, given))
}

// Names lists the names of all formats.
func Names() []string {
	var names []string
	for _, f := range Table() {
		names = append(names, f.Name)
	}
	return names
}

// hint guesses the intended format: -o out.json is the most frequent mistake.
func hint(s string, given bool) string {
	ext := s[strings.LastIndexByte(s, '.')+1:]
	for _, name := range Names() {
		if !given && ext == name {
			return fmt.Sprintf("; did you mean %s=%s?", name, s)
		}
	}
	return ", as in json=out.json"
}

// Head is the part of a report that is known before its run starts.
func Head(r *takt.Report) takt.Report {
	return takt.Report{
		SchemaVersion: r.SchemaVersion,
		ID:            r.ID,
		Tool:          r.Tool,
		Kind:          r.Kind,
		Command:       r.Command,
		Labels:        r.Labels,
		Variables:     r.Variables,
		StartedAt:     r.StartedAt,
		WarmupS:       r.WarmupS,
		Extra:         timeline.AnnouncedOf(r).Announce(nil),
	}
}

// CanReplay is an error if the output f cannot be made from a stored run.
func CanReplay(f Format) error {
	if f.Rows {
		return fmt.Errorf("%s cannot be made from a stored run, which keeps histograms and no operations; give -o %s=FILE to the run itself, or take csv=FILE for one row a second", f.Name, f.Name)
	}
	return nil
}

// Replay makes the output f of a stored report. Its intervals last
// report.IntervalS seconds, which is more than one after a long run.
func Replay(f Format, w io.Writer, report *takt.Report) error {
	if err := CanReplay(f); err != nil {
		return err
	}
	out, err := f.Open(w, Head(report))
	if err != nil {
		return err
	}
	for _, iv := range report.Intervals {
		if err := out.Interval(iv, nil); err != nil {
			return err
		}
	}
	return out.Close(report)
}

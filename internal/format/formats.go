// Package format writes reports: for people, for programs, and for the tools
// that read HdrHistogram's files. A format works on the report alone, so every
// output can be made again from a stored run.
package format

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// Format is one way to write a report.
type Format struct {
	Name  string // as in -o NAME=PATH
	Short string // what it is, for --help
	// Open begins an output. Of head only what is known before the run is filled,
	// see Head. A Writer does not close w.
	Open func(w io.Writer, head takt.Report) (Writer, error)
}

// Writer takes a run as it goes. What it gets in Interval is written before
// Interval returns, so that a killed run leaves all but its last second.
type Writer interface {
	// Interval takes the second that has just passed.
	Interval(takt.Interval) error
	// Close takes the final report and finishes the output.
	Close(*takt.Report) error
}

// Table lists the formats, in the order in which help shows them.
func Table() []Format {
	return []Format{
		Text(false),
		{"json", "the report, as schema/report-v1.schema.json describes it", openJSON},
		{"ndjson", `{"interval":{…}} every second, {"summary":{the report}} at the end`, openNDJSON},
		{"csv", "one row every second", openCSV},
		{"hgrm", "percentile spectrum of the response time, ms, for hdrhistogram.org", openHGRM},
		{"hlog", "HdrHistogram log: response and service time of every second", openHLog},
	}
}

// Stdout is the path that means standard output.
const Stdout = "-"

// Parse reads FORMAT=PATH; FORMAT alone goes to Stdout.
func Parse(s string) (Format, string, error) {
	name, path, given := strings.Cut(s, "=")
	if !given {
		path = Stdout
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

// hint guesses at what was meant: -o out.json is the commonest slip.
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
	}
}

// Replay makes the output f of a stored report. Its intervals last
// report.IntervalS seconds, which is more than one after a long run.
func Replay(f Format, w io.Writer, report *takt.Report) error {
	out, err := f.Open(w, Head(report))
	if err != nil {
		return err
	}
	for _, iv := range report.Intervals {
		if err := out.Interval(iv); err != nil {
			return err
		}
	}
	return out.Close(report)
}

package html

import (
	"bytes"
	"cmp"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Report writes the page of a report of any kind.
func Report(w io.Writer, r *takt.Report) error { return (*Frame)(nil).Report(w, r) }

// Report writes the page of a report of any kind.
func (f *Frame) Report(w io.Writer, r *takt.Report) error {
	if r.Kind == capacity.Kind {
		return f.writeCapacity(w, r)
	}
	d, err := runPage(r)
	if err != nil {
		return err
	}
	d.Frame = f
	return d.writeRun(w, r)
}

// runPage is the page of a run.
func runPage(r *takt.Report) (*webPage, error) {
	s, err := seriesOf(r)
	if err != nil {
		return nil, err
	}
	var markdown bytes.Buffer
	if err := report.Markdown(&markdown, r); err != nil {
		return nil, err
	}
	d := heading(r)
	d.Markdown = markdown.String()
	d.Verdict.Text, d.Verdict.Tone, d.Headline = report.Headline(r)
	d.Notes = warningsOf(r)
	for _, a := range r.Assertions {
		tone := tones[a.Result]
		if report.Doubtful(&a) {
			tone = part.Warn
		}
		d.Checks = append(d.Checks, check{strings.ToUpper(string(a.Result)), tone, page.Clean(a.Expression), page.Clean(a.Reason)})
	}
	d.Cards = report.Cards(r)
	parts, err := report.Parts(r)
	if err != nil {
		return nil, err
	}
	d.Sections, err = sections(parts, r, s)
	return d, err
}

func warningsOf(r *takt.Report) (list []string) {
	for _, s := range report.WarningSentences(r) {
		list = append(list, s.String())
	}
	return list
}

var tones = map[takt.Outcome]part.Tone{takt.Pass: part.Good, takt.Fail: part.Bad, takt.Void: part.Warn, takt.Unproven: part.Warn}

// heading has what every page of a report begins and ends with.
func heading(r *takt.Report) *webPage {
	d := &webPage{Title: report.Title(r), Tool: page.Clean(strings.TrimSpace(r.Tool.Name + " " + r.Tool.Version))}
	d.Subtitle = []string{report.Started(r), report.Measured(r)}
	if shard := report.PartOf(r); shard != "" {
		d.Subtitle = append(d.Subtitle, "shard "+shard)
	}
	return d
}

// latencySpectrum draws the latencies of the table of percentiles.
func latencySpectrum(r *takt.Report, _ *series) ([]block, error) {
	classes := map[string]string{takt.LatencyService: "service", takt.LatencyResponseOK: "third"}
	var curves []curve
	for _, name := range report.Columns(r) {
		h, err := hist.Decode(r.Latency[name].HDR)
		if err != nil {
			return nil, err
		}
		l := r.Latency[name]
		curves = append(curves, curve{page.Words(name) + " time", cmp.Or(classes[name], "response"), h, proof.Intervals(&l)})
	}
	return []block{spectrum(curves)}, nil
}

// Package report writes the report of a run for people. Each part of it is a file and a row of Parts, and is
// made once for text, Markdown and pages.
package report

import (
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// run is a report with what several parts need.
type run struct {
	*takt.Report
	primary  string          // name of the main latency
	main     *hist.Histogram // of the main latency
	unit     page.Unit       // of all latencies in text and Markdown
	own      own
	interval *intervals // of the main latency; nil: not known of any percentile
}

func runOf(r *takt.Report) (*run, error) {
	name := Primary(r)
	h, err := hist.Decode(r.Latency[name].HDR)
	of := &run{Report: r, primary: name, main: h, unit: unitOf(r), own: ownOf(r)}
	if r.Verdict != takt.Invalid && overload.Of(r) == nil { // else the target has another percentile
		of.interval = intervalsOf(r.Latency[name])
	}
	return of, err
}

// Parts are the parts of the report of a run, in the order of all outputs. A part without blocks is left out.
func Parts(r *takt.Report) (list []part.Part, err error) {
	of, err := runOf(r)
	if err != nil {
		return nil, err
	}
	if one := claimsPart(r, part.HTML); len(one.Blocks) > 0 {
		list = append(list, one)
	}
	for _, make := range []func(*run) part.Part{
		subject,
		account,
		overTime,
		heat,
		percentiles,
		comparison,
		leftOut,
		stepsOf,
		tokens,
		contrast,
		causes,
		components,
		distribution,
		server,
		everySecond,
		shards,
		outages,
		faults,
		failures,
		targets,
		exports,
		about,
	} {
		if one := make(of); len(one.Blocks) > 0 {
			list = append(list, one)
		}
	}
	return append(list, Warnings(r), claimsPart(r, part.Text)), nil
}

// Text writes the report for people, in colours if color.
func Text(w io.Writer, r *takt.Report, color bool) error {
	parts, err := Parts(r)
	if err != nil {
		return err
	}
	p := &page.Page{Color: color}
	opening(p, r)
	part.WriteText(p, parts...)
	conclusion(p, r)
	return p.Print(w)
}

// Markdown writes a summary in GitHub's Markdown: the verdict, the rate, the latencies, errors and warnings.
func Markdown(w io.Writer, r *takt.Report) error {
	parts, err := Parts(r)
	if err != nil {
		return err
	}
	var b strings.Builder
	markdownVerdict(&b, r)
	part.WriteMarkdown(&b, assertionTable(r), claimsPart(r, part.Markdown))
	part.WriteMarkdown(&b, parts...)
	_, err = io.WriteString(w, b.String())
	return err
}

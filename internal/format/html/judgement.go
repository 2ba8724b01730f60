package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Judgement writes the page of verify.
func Judgement(w io.Writer, j verify.Judgement) error {
	var markdown bytes.Buffer
	if err := answer.JudgementMarkdown(&markdown, j); err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	line, comparisons := answer.JudgementWords(j)
	d := &document{
		Title: title(j.Head), Verdict: verdictWord{string(j.Verdict), wordTones[j.Verdict]}, Headline: line,
		Markdown: markdown.String(), JSON: string(encoded),
	}
	for _, s := range j.Advice {
		d.Notes = append(d.Notes, page.Clean(s))
	}
	for i, c := range j.Comparisons {
		titles, sides := answer.ComparisonWords(c, j)
		s := section{ID: fmt.Sprintf("comparison-%d", i+1), Title: comparisons[i], Lead: strings.Join(sides, " · "), Blocks: forest(c.Findings, j.Tolerance, titles[1])}
		s.Blocks = append(s.Blocks, block{Table: findingTable(c.Findings, titles)}, runsOf(c.Base, j.Head))
		d.Sections = append(d.Sections, s)
	}
	if head := j.Reports[1]; len(j.Comparisons) == 1 && len(head) > 0 {
		names, _ := answer.ComparisonWords(j.Comparisons[0], j)
		curves, err := bothSides(names, j.Reports[0], head)
		if err != nil {
			return err
		}
		d.Sections = append(d.Sections, curves...)
		d.Sections = append(d.Sections, section{ID: "load", Title: "Load", Blocks: []block{{Title: "Command", Pre: part.CommandLine(head[0].Command)}}})
	}
	return d.write(w)
}

// title names the judged side, with the subject of its commit.
func title(head verify.Side) string {
	if head.Commit == nil {
		return "verify " + answer.Revision(head.Name)
	}
	return "verify " + answer.Revision(head.Name) + ": " + page.Clean(head.Commit.Subject)
}

// runsOf lists the runs of both sides.
func runsOf(sides ...verify.Side) block {
	t := &table{Caption: "The runs of both sides.", Head: []string{"side", "run"}, Words: 2}
	for _, side := range sides {
		for _, id := range side.Runs {
			t.Rows = append(t.Rows, []string{answer.Revision(side.Name), page.Clean(id)})
		}
	}
	return block{Fold: "Runs", Table: t}
}

// Contrast writes the page of compare, with the reports of both sides in it.
func Contrast(w io.Writer, c verify.Contrast, base, head []*takt.Report) error {
	return (*Frame)(nil).Contrast(w, c, base, head)
}

// Contrast writes the page of compare.
func (f *Frame) Contrast(w io.Writer, c verify.Contrast, base, head []*takt.Report) error {
	var markdown bytes.Buffer
	if err := answer.ContrastMarkdown(&markdown, c); err != nil {
		return err
	}
	title, notes := answer.ContrastWords(c)
	names, titles := [2]string{answer.Revision(c.Base.Name), answer.Revision(c.Head.Name)}, answer.ContrastTitles(c)
	d := &document{
		Frame: f, Title: "compare " + names[1] + " with " + names[0], Verdict: verdictWord{"compared", "plain"}, Headline: title,
		Notes: notes, Markdown: markdown.String(),
	}
	for i, side := range [][]*takt.Report{base, head} {
		if f != nil && len(side) == 1 { // a page of takt ui was not asked for by name
			d.Subtitle = append(d.Subtitle, names[i]+": "+heading(side[0]).Subtitle[0]+", "+heading(side[0]).Title)
		}
	}
	told := answer.Telling(c.Findings)
	s := section{ID: "metrics", Title: "Differences", Blocks: forest(told, c.Tolerance, titles[1])}
	s.Blocks = append(s.Blocks, block{Table: findingTable(told, titles)}, runsOf(c.Base, c.Head))
	d.Sections = append(d.Sections, s)
	curves, err := bothSides(names, base, head)
	if err != nil {
		return err
	}
	d.Sections = append(d.Sections, curves...)
	return d.writeSides(w, base, head)
}

// bothSides are the sections with the latencies of both sides.
func bothSides(names [2]string, base, head []*takt.Report) (list []section, err error) {
	for _, latency := range []string{takt.LatencyResponse, takt.LatencyService, takt.LatencySend, "transfer"} {
		one, err := overlaid(latency, names, base, head)
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	return list, nil
}

// mostCurves is the largest number of runs of a side that have a curve each.
const mostCurves = 12

// overlaid is the section with a latency of all runs, laid over each other.
func overlaid(latency string, names [2]string, base, head []*takt.Report) ([]section, error) {
	var single, merged []curve
	for i, side := range [][]*takt.Report{base, head} {
		class := []string{"base", "response"}[i]
		all := hist.New()
		for _, r := range side {
			h, err := hist.Decode(r.Latency[latency].HDR)
			if err != nil {
				return nil, err
			}
			if h.Count() == 0 {
				return nil, nil
			}
			all.Merge(h)
			single = append(single, curve{"", class + " thin", h})
		}
		name := names[i]
		if len(side) > 1 {
			name += ", all runs merged"
		}
		merged = append(merged, curve{name, class, all})
	}
	if len(single) == 2 || len(single) > 2*mostCurves {
		single = nil
	}
	b := spectrum(append(single, merged...))
	if single != nil {
		b.Help = "The thin curves are the single runs."
	}
	return []section{{ID: "spectrum-" + latency, Title: page.Capital(page.Words(latency)) + " time of both sides", Blocks: []block{b}}}, nil
}

package html

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/pkg/takt"
)

// sections are parts as sections of a page. s has the intervals of the run r, for charts over time and drawings.
func sections(parts []part.Part, r *takt.Report, s *series) (list []section, err error) {
	var last []section
	for i := range parts {
		one := &parts[i]
		blocks, err := blocksOf(one, r, s)
		if err != nil {
			return nil, err
		}
		if len(blocks) == 0 {
			continue
		}
		made := section{ID: one.ID, Title: one.Title, Lead: one.Lead, Blocks: blocks}
		if one.Beside {
			made.Class = "beside"
		}
		k := slices.IndexFunc(list, func(s section) bool { return s.ID == one.Within })
		switch {
		case k >= 0:
			list[k].Blocks = append(list[k].Blocks, blocks...)
		case one.ID == "": // nothing without the part around it
		case one.Last:
			last = append(last, made)
		default:
			list = append(list, made)
		}
	}
	return append(list, last...), nil
}

func blocksOf(one *part.Part, r *takt.Report, s *series) (list []block, err error) {
	for i := range one.Blocks {
		b := &one.Blocks[i]
		if !b.In.Has(part.HTML) {
			continue
		}
		if b.Drawing == nil {
			list = append(list, blockOf(b, s))
			continue
		}
		drawn, err := drawingOf(b.Drawing, r, s)
		if err != nil {
			return nil, err
		}
		list = append(list, drawn...)
	}
	return list, nil
}

// blockOf is a block of a part.
func blockOf(b *part.Block, s *series) block {
	made := block{Fold: b.Fold, Pre: b.Pre, Notes: notes(b.Above, b.Below)}
	if b.Fold == "" && b.Table == nil {
		made.Title = b.Title
	}
	switch {
	case b.Curves.List != nil:
		s.curves(&made, &b.Curves)
	case b.Bar != nil:
		bar(&made, b.Bar)
	}
	for _, f := range b.Facts {
		if says := page.Clean(f.Says); f.In.Has(part.HTML) && says != "" {
			made.Facts = append(made.Facts, fact{f.Label, says})
		}
	}
	if b.Table != nil {
		made.Table = tableOf(b.Table)
	}
	return made
}

// notes are sentences that begin with a capital and end.
func notes(lists ...[]part.Sentence) (list []string) {
	for _, s := range slices.Concat(lists...) {
		if text := page.Capital(s.String()); s.In.Has(part.HTML) {
			list = append(list, strings.TrimSuffix(text, ".")+".")
		}
	}
	return list
}

// tableOf is a table of a part.
func tableOf(t *part.Table) *table {
	made := &table{ID: t.ID, Caption: t.Caption}
	var columns []int
	for i, c := range t.Columns {
		if c.In.Has(part.HTML) {
			columns = append(columns, i)
			made.Head = append(made.Head, strings.TrimSpace(c.Group+" "+cmp.Or(c.Page, c.Title)))
			made.Texts = append(made.Texts, c.Words)
		}
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		if !row.In.Has(part.HTML) {
			continue
		}
		var cells []cell
		for _, k := range columns {
			v := row.Cells[k]
			cells = append(cells, cell{v.String() + v.Mark, v.Tone})
		}
		made.Rows, made.RowIDs = append(made.Rows, cells), append(made.RowIDs, row.ID)
	}
	return made
}

// bar draws the parts of a whole as one horizontal bar.
func bar(b *block, shares []part.Share) {
	d := newDrawing(28)
	from := 0.0
	var names []string
	for _, s := range shares {
		if s.Part > 0 {
			d.area(from, from+s.Part, 0, 1, s.Class)
		}
		if from += s.Part; s.Name != "" {
			b.Legend, names = append(b.Legend, legend{s.Class, s.Name}), append(names, s.Name)
		}
	}
	b.Picture = d.svgOf("plot bar", cmp.Or(b.Title, strings.Join(names, ", "))+"; the section has the figures", "")
}

// curves draws curves with one axis, within the time of the run.
func (s *series) curves(b *block, c *part.Curves) {
	highest := 0.0
	for _, curve := range c.List {
		highest = max(highest, curve.Highest())
		if curve.Name != "" {
			b.Legend = append(b.Legend, legend{curve.Class, curve.Name})
		}
	}
	unit := 1.0 // so that the axis has round figures of MiB
	for first := &c.List[0]; first.Binary && highest >= 1024*unit; {
		unit *= 1024
	}
	axis := c.List[0].Axis
	if axis == nil {
		axis = c.List[0].Print
	}
	y := linear(1.1 * cmp.Or(highest, 1) / unit)
	height := float64(stripHeight)
	if c.High {
		height = panelHeight
	}
	d := s.drawing(height)
	s.frame(d, y, func(v float64) string { return axis(v * unit) })
	for _, curve := range c.List {
		var list []point
		for _, at := range curve.Points {
			if from, to := max(0, at.From), min(s.end, at.To); from < to || s.end == 0 {
				list = append(list, point{from: s.x(from), to: s.x(to), y: y.at(at.Value / unit), gap: at.Unknown})
			}
		}
		d.steps(list, curve.Class)
	}
	b.Picture = d.svg(b.Title+"; the table has the figures", ` data-table="`+cmp.Or(c.Table, "every-second")+`"`)
}

// drawings are the charts of a run with one purpose, by the names that parts have for them.
var drawings = map[string]func(*takt.Report, *series) ([]block, error){
	"time":         func(r *takt.Report, s *series) ([]block, error) { return []block{s.hero(r)}, nil },
	"lag":          func(r *takt.Report, s *series) ([]block, error) { return []block{s.lag(r)}, nil },
	"every second": func(r *takt.Report, s *series) ([]block, error) { return []block{s.everySecond(r)}, nil },
	"heat":         func(_ *takt.Report, s *series) ([]block, error) { return []block{s.heat.block(s)}, nil },
	"spectrum":     latencySpectrum,
	"replayed":     replayed,
}

// drawingOf is a chart with one purpose: of a run by its name, of an answer by what it draws.
func drawingOf(drawing any, r *takt.Report, s *series) ([]block, error) {
	switch d := drawing.(type) {
	case string:
		return drawings[d](r, s)
	case answer.Forest:
		return forest(d), nil
	case answer.Flame:
		return flameGraph(d), nil
	case answer.Spectra:
		return overlaid(d)
	case answer.GroupChart:
		return groupChart(d), nil
	case answer.HonestyChart:
		return honestyChart(d)
	case answer.SeriesChart:
		return []block{seriesChart(d)}, nil
	case capacity.Answer:
		return []block{capacityCurve(d)}, nil
	}
	return nil, fmt.Errorf("no page draws a %T", drawing)
}

// answered is the page of a document; v is what it shows as JSON, unless it is nil.
func (f *Frame) answered(found *part.Document, v any, r *takt.Report) (*webPage, error) {
	var markdown strings.Builder
	if err := found.WriteMarkdown(&markdown); err != nil {
		return nil, err
	}
	d := &webPage{
		Frame: f, Title: found.Title, Verdict: verdictWord{found.Word, cmp.Or(found.Tone, part.Plain)}, Headline: found.Headline(), Markdown: markdown.String(),
	}
	if found.Next != "" {
		d.Headline, d.Next, d.Criteria = page.Clean(found.Line), page.Clean(found.Next), page.Capital(page.Clean(found.More))
	}
	for _, s := range found.Notes {
		if s.In.Has(part.HTML) {
			d.Notes = append(d.Notes, s.String())
		}
	}
	var err error
	if v != nil {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return nil, err
		}
		d.JSON = string(text)
	}
	d.Sections, err = sections(found.Parts, r, nil)
	return d, err
}

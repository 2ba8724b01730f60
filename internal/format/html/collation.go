package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
)

// Collation writes the page of collate.
func Collation(w io.Writer, c query.Collation) error {
	var markdown bytes.Buffer
	if err := answer.CollationMarkdown(&markdown, c); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	d := &document{
		Title: "collate " + page.Clean(c.Variable), Verdict: verdictWord{page.Plural(len(c.Groups), "group"), "plain"},
		Headline: "Within a group all settings are equal, except " + page.Clean(c.Variable) + ".",
		Notes:    answer.CollationNotes(c), Markdown: markdown.String(), JSON: string(text),
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		same, cells := answer.CollationCells(c, g)
		t := &table{Caption: "Runs with equal settings, side by side.", Head: cells[0], Rows: cells[1:], Words: 2, Tail: max(0, len(cells[0])-2-len(g.Metrics))}
		d.Sections = append(d.Sections, section{ID: fmt.Sprintf("group-%d", i+1), Title: same, Blocks: append(groupChart(c, g), block{Table: t})})
	}
	return d.write(w)
}

// groupChart draws the group's criterion of each row: the figure, and from the least to the greatest of
// its runs.
func groupChart(c query.Collation, g *query.Group) []block {
	high := 0.0
	var rows []*query.Row
	for i := range g.Rows {
		if f, ok := g.Rows[i].Figures[g.Criterion]; ok && !math.IsInf(f.Max, 0) && f.Min >= 0 {
			rows, high = append(rows, &g.Rows[i]), max(high, f.Max, f.Value)
		}
	}
	if len(rows) < 2 || high == 0 {
		return nil
	}
	metric, _ := stored.MetricOf(g.Criterion)
	x := linear(high * 1.1)
	d := newRows(len(rows))
	var at []float64
	ticks := x.ticks(6)
	for _, v := range ticks {
		at = append(at, x.at(v))
	}
	d.columns(at, func(i int) string { return page.Amount(metric.Unit, ticks[i]) })
	for i, r := range rows {
		y, f := 1-(float64(i)+0.5)/float64(len(rows)), r.Figures[g.Criterion]
		d.label(y, answer.ValueText(c, r))
		d.stroke(x.at(f.Min), x.at(f.Max), y, y, "whisker")
		class := "dot"
		if !r.Best {
			class += " gone"
		}
		d.dot(x.at(f.Value), y, 5, class, answer.ValueText(c, r)+": "+answer.FigureText(g.Criterion, r))
	}
	return []block{{
		Title: page.Clean(g.Criterion), Legend: []legend{{"dotkey", "best"}, {"dotkey gone", "others"}, {"whisker", "from the least to the greatest run"}},
		Picture: d.svg(page.Clean(g.Criterion)+" of each row; the table has the figures", ""),
	}}
}

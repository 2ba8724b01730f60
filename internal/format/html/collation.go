package html

import (
	"io"
	"math"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
)

// Collation writes the page of collate.
func Collation(w io.Writer, c query.Collation) error {
	d, err := (*Frame)(nil).answered(answer.Collation(c), c, nil)
	if err != nil {
		return err
	}
	return d.write(w)
}

// groupChart draws the group's criterion of each row: the figure, and from the least to the greatest of
// its runs.
func groupChart(of answer.GroupChart) []block {
	c, g := of.Collation, of.Group
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

package html

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"time"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/history"
)

// History writes the page of history.
func History(w io.Writer, h history.History) error { return (*Frame)(nil).History(w, h) }

// History writes the page of history.
func (f *Frame) History(w io.Writer, h history.History) error {
	d, err := f.answered(answer.History(h), h, nil)
	if err != nil {
		return err
	}
	return d.write(w)
}

// seriesChart draws a series.
func seriesChart(of answer.SeriesChart) block {
	s := of.Series
	b := block{
		Title: page.Clean(s.Metric), Picture: historyPicture(of.Group, s),
		Legend: []legend{{"dotkey", "a revision"}, {"response", "level"}},
	}
	if len(s.Changes) > 0 {
		b.Legend = append(b.Legend, legend{"dotkey over", "a change for the worse that is open"}, legend{"range", "where a change may be"})
	}
	if s.Verdict == history.Inconclusive {
		b.Help = page.Capital(answer.NeedSentence(of.History, s)) + "."
	}
	return b
}

const (
	historyHeight = 160
	year          = 365 * 24 * time.Hour
)

// revisionLabels tell revisions apart: by the date, on one day by the time of day, and if that is equal,
// too, by the start of the name.
func revisionLabels(list []history.Revision) []string {
	first, last := list[0].Date.UTC(), list[len(list)-1].Date.UTC()
	layouts := []string{"01-02", "01-02 15:04"}
	switch {
	case len(list) > 1 && first.Format(time.DateOnly) == last.Format(time.DateOnly):
		layouts = []string{"15:04", "15:04:05"}
	case last.Sub(first) > year:
		layouts = []string{"2006-01", time.DateOnly}
	}
	for _, layout := range layouts {
		labels := make([]string, len(list))
		for i, r := range list {
			labels[i] = r.Date.UTC().Format(layout)
		}
		if len(slices.Compact(slices.Clone(labels))) == len(list) { // they are in order
			return labels
		}
	}
	labels := make([]string, len(list))
	for i, r := range list {
		labels[i] = page.Cut(answer.Revision(r.Name), 9)
	}
	return labels
}

// historyPicture draws the points over the revisions, equally far from each other, with the levels and
// the changes.
func historyPicture(g *history.Group, s *history.Series) template.HTML {
	d := newDrawing(historyHeight)
	y := historyScale(s)
	for _, v := range y.ticks(4) {
		d.horizontal(y.at(v), "grid", page.Amount(s.Unit, v))
	}
	n := float64(len(g.Revisions))
	x := func(at int) float64 { return (float64(at) + 0.5) / n }
	var at []float64
	var shown []history.Revision
	for i := 0; i < len(g.Revisions); i += max(1, (len(g.Revisions)+4)/5) { // five dates have room on a phone
		at, shown = append(at, x(i)), append(shown, g.Revisions[i])
	}
	labels := revisionLabels(shown)
	d.columns(at, func(i int) string { return labels[i] })
	open := map[int]bool{}
	for _, c := range s.Changes {
		d.area(x(c.From), x(c.To), 0, 1, "range")
		open[c.At] = c.Open
	}
	var level []point
	for _, p := range s.Points {
		level = append(level, point{from: float64(p.At) / n, to: float64(p.At+1) / n, y: y.at(p.Level)})
	}
	d.steps(level, "response")
	for _, p := range s.Points {
		d.historyPoint(g, s, p, x(p.At), y, open[p.At])
	}
	return d.svg(page.Clean(s.Metric)+" of each revision; the table has the changes", "")
}

// historyPoint draws a revision, and if its runs differ, from the least to the greatest.
func (d *drawing) historyPoint(g *history.Group, s *history.Series, p history.Point, x float64, y scale, open bool) {
	if p.Low < p.High {
		d.stroke(x, x, y.at(p.Low), y.at(p.High), "cross")
		for _, end := range []float64{p.Low, p.High} {
			if y.beyond(end) != 0 {
				d.upright(x, y, end, 0, "beyond", "a run beyond the edge: "+page.Amount(s.Unit, end))
			}
		}
	}
	r := g.Revisions[p.At]
	class, radius := "dot pale", 3.0
	if open {
		class, radius = "dot over", 5
	}
	d.upright(x, y, p.Value, radius, class, fmt.Sprintf("%s, %s: %s, %s", answer.Revision(r.Name), r.Date.UTC().Format("2006-01-02"), page.Amount(s.Unit, p.Value), page.Plural(r.Runs, "run")))
}

// mostRuns is how many times the range of the points the scale may be to have the runs, too. One slow run
// would make the points a line.
const mostRuns = 3

// historyScale is from the least to the greatest point, since a change of 10 % is small beside 0, and as far
// as there is room from the least to the greatest run. It spans at least a fifth of the values.
func historyScale(s *history.Series) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range s.Points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	room := (mostRuns - 1) / 2.0 * max(high-low, math.Abs(high+low)/10)
	least, most := low, high
	for _, p := range s.Points {
		low, high = min(low, max(p.Low, least-room)), max(high, min(p.High, most+room))
	}
	middle, half := (low+high)/2, (high-low)/2*1.15
	half = max(half, math.Abs(middle)*0.1, 1e-9)
	if s.Absolute {
		half = max(half, 0.1)
	}
	return scale{low: max(0, middle-half), high: middle + half}
}

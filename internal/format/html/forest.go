package html

import (
	"fmt"
	"math"
	"slices"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/verify"
)

// forest draws the intervals of relative differences, one row a metric, with the pairs as dots. Metrics
// with an absolute difference, such as shares of errors, have a unit of their own and are in the table. A
// difference without an interval proves nothing, so it is only there, too.
func forest(all answer.Forest) []block {
	tolerance := all.Tolerance
	list := slices.DeleteFunc(slices.Clone(all.Findings), func(f verify.Finding) bool {
		return f.Absolute || f.Low == nil && f.High == nil
	})
	if len(list) == 0 {
		return nil
	}
	x := forestScale(list, tolerance)
	d := newRows(len(list))
	var at []float64
	ticks := x.ticks(6)
	for _, v := range ticks {
		at = append(at, x.at(v))
	}
	d.columns(at, func(i int) string { return signedPercent(ticks[i]) })
	d.vertical(x.at(0), "zero")
	for i, f := range list {
		d.forestRow(f, x, 1-(float64(i)+0.5)/float64(len(list)), tolerance)
	}
	b := block{Legend: []legend{{"whisker", "interval"}, {"dotkey", "estimate"}, {"tolerance", "tolerance for the worse"}}}
	if slices.ContainsFunc(list, func(f verify.Finding) bool { return len(f.Pairs) > 0 }) {
		b.Legend = append(b.Legend, legend{"ring", "a pair"})
	}
	b.Picture = d.svg("difference of each metric with its interval; the table has the figures", "")
	b.Help = "Right of 0, " + all.Head + " has more. An arrow at the edge: the interval or the pair goes on there."
	return []block{b}
}

// The largest differences that have room: no ratio is below −100 %.
const (
	mostAbove = 2
	mostBelow = 1
)

// forestScale is from the least to the greatest difference, with some room.
func forestScale(list []verify.Finding, tolerance float64) scale {
	x := scale{low: -1.6 * tolerance, high: 1.6 * tolerance}
	widen := func(v float64) { x.low, x.high = min(x.low, 1.1*v), max(x.high, 1.1*v) }
	for _, f := range list {
		widen(f.Difference)
		for _, end := range []*float64{f.Low, f.High} {
			if end != nil {
				widen(*end)
			}
		}
		for _, v := range f.Pairs {
			widen(v)
		}
	}
	return scale{low: max(x.low, -mostBelow), high: min(x.high, mostAbove)}
}

func (d *drawing) forestRow(f verify.Finding, x scale, y, tolerance float64) {
	d.label(y, f.Metric)
	worse := tolerance
	if f.Better == "higher" {
		worse = -tolerance
	}
	top, bottom := y+11/d.height, y-11/d.height
	d.stroke(x.at(worse), x.at(worse), bottom, top, "tolerance")
	low, high := math.Inf(-1), math.Inf(1)
	if f.Low != nil {
		low = *f.Low
	}
	if f.High != nil {
		high = *f.High
	}
	for _, v := range f.Pairs {
		d.across(x, v, y, 3, "ring", "a pair: "+signedPercent(v))
	}
	d.stroke(x.at(low), x.at(high), y, y, "whisker "+string(answer.Tone(f.Verdict)))
	for _, end := range []float64{low, high} {
		if x.beyond(end) != 0 {
			d.across(x, end, y, 0, "beyond "+string(answer.Tone(f.Verdict)), "the interval goes on")
		}
	}
	d.across(x, f.Difference, y, 5, "dot", f.Metric+": "+signedPercent(f.Difference))
}

// stroke adds a straight line.
func (d *drawing) stroke(x1, x2, y1, y2 float64, class string) {
	fmt.Fprintf(&d.over, `<line class="%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, class, fine(x1), fine(x2), short(d.y(y1)), short(d.y(y2)))
}

func signedPercent(v float64) string {
	if math.Abs(v) < 1e-12 {
		return "0 %"
	}
	return fmt.Sprintf("%+.3g %%", v*100)
}

package html

import (
	"fmt"
	"math"
	"slices"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/verify"
)

// forest draws the intervals of relative differences, one row a metric, with the pairs as dots. Metrics
// with an absolute difference, such as shares of errors, have a unit of their own and are in the table.
func forest(all []verify.Finding, tolerance float64) []block {
	list := slices.DeleteFunc(slices.Clone(all), func(f verify.Finding) bool { return f.Absolute })
	if len(list) == 0 {
		return nil
	}
	reach := forestReach(list, tolerance)
	x := scale{low: -reach, high: reach}
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
	b.Help = "Right of 0 the head has more. An interval that reaches the edge goes on there."
	return []block{b}
}

// mostReach is the largest difference that has room.
const mostReach = 2

// forestReach is the largest difference to show, in either direction.
func forestReach(list []verify.Finding, tolerance float64) float64 {
	reach := 1.6 * tolerance
	for _, f := range list {
		reach = max(reach, 1.15*math.Abs(f.Difference))
		for _, end := range []*float64{f.Low, f.High} {
			if end != nil {
				reach = max(reach, 1.15*math.Abs(*end))
			}
		}
		for _, v := range f.Pairs {
			reach = max(reach, 1.05*math.Abs(v))
		}
	}
	return min(reach, mostReach)
}

var wordTones = map[verify.Word]string{verify.Regressed: "bad", verify.Inconclusive: "warn", verify.OK: "good", verify.Improved: "good"}

func (d *drawing) forestRow(f verify.Finding, x scale, y, tolerance float64) {
	d.label(y, f.Metric)
	worse := tolerance
	if f.Better == "higher" {
		worse = -tolerance
	}
	top, bottom := y+11/d.height, y-11/d.height
	d.stroke(x.at(worse), x.at(worse), bottom, top, "tolerance")
	low, high := 0.0, 1.0
	if f.Low != nil {
		low = x.at(*f.Low)
	}
	if f.High != nil {
		high = x.at(*f.High)
	}
	for _, v := range f.Pairs {
		d.dot(x.at(v), y, 3, "ring", "a pair: "+signedPercent(v))
	}
	if f.Low != nil || f.High != nil {
		d.stroke(low, high, y, y, "whisker "+wordTones[f.Verdict])
	}
	d.dot(x.at(f.Difference), y, 5, "dot", f.Metric+": "+signedPercent(f.Difference))
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

// findingTable has all findings.
func findingTable(list []verify.Finding, base, head string) *table {
	t := &table{Caption: "Every metric, with the difference of the head and its interval.", Head: answer.FindingHead(base, head), Words: 1, Tail: 1}
	for _, f := range list {
		row := answer.FindingCells(f)
		for i := range row {
			row[i] = page.Clean(row[i])
		}
		t.Rows = append(t.Rows, row)
	}
	for i := range t.Head {
		t.Head[i] = page.Clean(t.Head[i])
	}
	return t
}

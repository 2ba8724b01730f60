package html

import (
	"fmt"
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/text"
	"github.com/taktload/takt/pkg/takt"
)

// replayed is the section that compares a replay with its log.
func replayed(r *takt.Report) []section {
	classes, statuses := text.Replayed(r)
	if len(statuses) == 0 {
		return nil
	}
	s := section{ID: "replayed", Title: "Recorded and replayed"}
	if len(classes) > 0 {
		s.Lead = "Only requests that were answered and have a recorded latency."
		s.Blocks = append(s.Blocks, replayedChart(classes), block{Table: replayedTable(classes)})
	}
	s.Blocks = append(s.Blocks, statusMatrix(statuses))
	return []section{s}
}

// replayedChart draws recorded and replayed p50, p95 and p99 of each class, one row a class.
func replayedChart(classes []text.ReplayedClass) block {
	low, high := 0.0, 0.0
	for _, c := range classes {
		all := slices.Concat(c.Recorded[:], c.Response[:])
		high = max(high, slices.Max(all))
		if v := slices.Min(all); v > 0 && (low == 0 || v < low) {
			low = v
		}
	}
	x := latencyScale(low, high)
	d := newRows(len(classes))
	var at []float64
	ticks := x.ticks(6)
	for _, v := range ticks {
		at = append(at, x.at(v))
	}
	d.columns(at, func(i int) string { return figure.Micros(ticks[i]) })
	for i, c := range classes {
		y := 1 - (float64(i)+0.5)/float64(len(classes))
		d.label(y, c.Name)
		for k, name := range []string{"p50", "p95", "p99"} {
			up, down := y+6/d.height, y-6/d.height
			radius := 3.5 + float64(k)
			d.dot(x.at(c.Recorded[k]), up, radius, "ring", fmt.Sprintf("%s recorded %s %s", c.Name, name, figure.Micros(c.Recorded[k])))
			d.dot(x.at(c.Response[k]), down, radius, "dot", fmt.Sprintf("%s replayed %s %s", c.Name, name, figure.Micros(c.Response[k])))
		}
	}
	return block{
		Legend:  []legend{{"ring", "recorded"}, {"dotkey", "replayed, response time"}},
		Picture: d.svg("recorded and replayed percentiles by class; the table has them", ""),
		Help:    "From the left: p50, p95 and p99 of each class.",
	}
}

func replayedTable(classes []text.ReplayedClass) *table {
	t := &table{
		Caption: "Recorded latency and replayed response time.", Words: 1,
		Head: []string{"class", "count", "recorded p50", "p95", "p99", "replayed p50", "p95", "p99"},
	}
	for _, c := range classes {
		row := []string{c.Name, page.Count(c.Count)}
		for _, v := range slices.Concat(c.Recorded[:], c.Response[:]) {
			row = append(row, figure.Micros(v))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// statusMatrix is the table of recorded against replayed status.
func statusMatrix(list []text.ReplayedStatus) block {
	var recorded, replayed []string
	cells := map[[2]string]string{}
	differ := uint64(0)
	for _, s := range list {
		if !slices.Contains(recorded, s.Recorded) {
			recorded = append(recorded, s.Recorded)
		}
		if !slices.Contains(replayed, s.Replayed) {
			replayed = append(replayed, s.Replayed)
		}
		cells[[2]string{s.Recorded, s.Replayed}] = page.Count(s.Count) + " " + s.Verdict
		if s.Verdict != "same" && s.Verdict != "as good" {
			differ += s.Count
		}
	}
	slices.Sort(recorded)
	slices.Sort(replayed)
	t := &table{Caption: "Status of the log, by row, against status of the replay, by column.", Head: []string{"recorded"}, Words: 1}
	for _, code := range replayed {
		t.Head = append(t.Head, "replayed "+code)
	}
	for _, from := range recorded {
		row := []string{from}
		for _, to := range replayed {
			row = append(row, cells[[2]string{from, to}])
		}
		t.Rows = append(t.Rows, row)
	}
	return block{Title: "Status", Note: page.Count(differ) + " answers were neither the same as in the log nor as good.", Table: t}
}

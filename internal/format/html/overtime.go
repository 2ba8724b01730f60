package html

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// The heights of the charts over time, in pixels.
const (
	heroHeight  = 280
	panelHeight = 96
	stripHeight = 64
)

// hero draws response against service time, with the gap between them.
func (s *series) hero(r *takt.Report) block {
	stops := outage.StallsOf(r)
	name := page.Words(report.Primary(r))
	low, high := s.extremes()
	y := latencyScale(low, high)
	b := block{Legend: []legend{{"response", name + " time: from when it was due"}}, Help: "Each step is one interval. The shaded gap is time that operations waited before they were sent."}
	if s.hasService() {
		b.Legend = append(b.Legend, legend{"service", "service time: from when it was sent"}, legend{"gap", "the gap between them"})
	} else {
		b.Help = "Each step is one interval."
	}
	if len(stops) > 0 {
		b.Legend = append(b.Legend, legend{"stall", "stall"})
	}
	b.Legend = append(b.Legend, s.markLegend()...)
	for i, st := range statistics {
		b.Tabs = append(b.Tabs, tab{ID: "hero-" + st.name, Name: st.name, Checked: st.name == usual, Picture: s.heroPicture(i, name, y, stops)})
	}
	return b
}

// extremes are the range of all statistics that are shown.
func (s *series) extremes() (low, high float64) {
	low = math.Inf(1)
	for i := range s.list {
		for _, v := range slices.Concat(s.list[i].response, s.list[i].service) {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if high == 0 {
		return 1, 1
	}
	return low, high
}

func (s *series) heroPicture(statistic int, name string, y scale, stops []takt.Stall) template.HTML {
	d := s.drawing(heroHeight)
	s.warm(d)
	s.marks(d)
	for _, v := range y.ticks(5) {
		d.horizontal(y.at(v), "grid", figure.Micros(v))
	}
	s.time(d)
	response := s.points(func(one *second) (float64, bool) {
		if one.response == nil {
			return 0, false
		}
		return y.at(one.response[statistic]), true
	})
	service := s.points(func(one *second) (float64, bool) {
		if one.service == nil {
			return 0, false
		}
		return y.at(one.service[statistic]), true
	})
	s.drawStalls(d, stops)
	d.between(response, service, "gap")
	d.steps(service, "service")
	d.steps(response, "response")
	label := fmt.Sprintf("%s of %s time over the run", statistics[statistic].name, name)
	if s.hasService() {
		label = fmt.Sprintf("%s of %s time and of service time over the run", statistics[statistic].name, name)
	}
	class := "plot"
	if len(stops) > 0 {
		class = "plot crowned"
	}
	return d.svgOf(class, label+"; the table below has the figures", ` data-table="every-second"`)
}

// mostNamed is how many stalls have a text in the picture; the table has all.
const mostNamed = 6

// drawStalls marks the stalls, and names the longest of them.
func (s *series) drawStalls(d *drawing, stops []takt.Stall) {
	byLength := slices.Clone(stops)
	slices.SortStableFunc(byLength, func(a, b takt.Stall) int {
		return cmp.Compare(b.LongestUS, a.LongestUS)
	})
	var named []float64
	for _, one := range byLength {
		from, to := s.x(one.FromS), s.x(one.ToS)
		d.area(from, to, 0, 1, "stall")
		at := (from + to) / 2
		crowded := slices.ContainsFunc(named, func(o float64) bool { return math.Abs(o-at) < 0.14 })
		if crowded || len(named) == mostNamed {
			continue
		}
		class := "stall-name"
		if len(named) >= 1 {
			class += " roomy"
		}
		named = append(named, at)
		anchor := "middle"
		if at < 0.07 {
			at, anchor = from, "start"
		} else if at > 0.93 {
			at, anchor = to, "end"
		}
		d.text(at, -20, anchor, class, figure.Micros(one.LongestUS)+" stall")
		d.text(at, -7, anchor, class+" quiet", page.Count(one.Held)+" held up")
	}
}

// warm shades the warm-up.
func (s *series) warm(d *drawing) {
	if s.warmup > 0 {
		d.area(0, s.x(s.warmup), 0, 1, "warmup")
		if d.height == heroHeight {
			d.text(s.x(s.warmup)/2, 16, "middle", "tick", "warm-up")
		}
	}
}

// time adds the axis.
func (s *series) time(d *drawing) {
	var at []float64
	ticks := timeTicks(s.end, 10)
	for _, t := range ticks {
		at = append(at, s.x(t))
	}
	d.columns(at, func(i int) string { return page.Span(ticks[i]) })
}

// lag draws the generator's lateness below the bound of validity.
func (s *series) lag(r *takt.Report) block {
	limit := hist.Micros(verdict.BoundOf(r))
	of := func(one *second) float64 { return one.ScheduleLagP99 }
	low := math.Inf(1)
	for i := range s.list {
		if v := of(&s.list[i]); v > 0 {
			low = min(low, v)
		}
	}
	y := logarithmic(min(low, limit/10)/1.5, max(s.highest(of), limit)*4)
	d := s.drawing(stripHeight)
	s.warm(d)
	s.time(d)
	for _, v := range y.ticks(3) {
		d.horizontal(y.at(v), "grid", figure.Micros(v))
	}
	d.horizontal(y.at(limit), "bound", "")
	d.text(1, d.y(y.at(limit))-4, "end", "bound-name", "bound "+figure.Micros(limit))
	d.steps(s.points(func(one *second) (float64, bool) { return y.at(of(one)), of(one) > 0 }), "ok")
	bound := figure.Micros(limit)
	return block{
		Title: "Schedule lag of takt, p99", Picture: d.svg("p99 of the schedule lag, with the bound of validity at "+bound, ` data-table="every-second"`),
		Help: fmt.Sprintf("takt's own lateness. The run is invalid if more than %g %% of the operations, and at least %d, are later than the bound, %s.", 100*verdict.LateShare, verdict.LateAtLeast, bound),
	}
}

// frame adds the grid of a panel.
func (s *series) frame(d *drawing, y scale, label func(float64) string) {
	s.warm(d)
	s.marks(d)
	s.time(d)
	ticks := y.ticks(2)
	if len(ticks) < 2 { // 0 alone says nothing
		ticks = y.ticks(3)
	}
	for _, v := range ticks {
		d.horizontal(y.at(v), "grid", label(v))
	}
}

// column is a column of the table of intervals.
type column struct {
	title string
	cell  func(*second) string
}

// everySecond is the table behind all charts over time. The script shows its rows beside the pointer.
func (s *series) everySecond(r *takt.Report) block {
	columns := s.columns(r, page.Words(report.Primary(r)))
	t := &table{ID: "every-second", Caption: "Every interval. due counts by when operations were due, the rest by when they ended.", Head: []string{"until"}, Texts: []bool{true}, RowIDs: make([]string, len(s.list))}
	for _, c := range columns {
		t.Head, t.Texts = append(t.Head, c.title), append(t.Texts, false)
	}
	for i := range s.list {
		one := &s.list[i]
		until := page.Span(one.T)
		if one.Warmup {
			until += " warm-up"
		}
		row := []cell{{Text: until}}
		for _, c := range columns {
			row = append(row, cell{Text: c.cell(one)})
		}
		t.Rows = append(t.Rows, row)
	}
	return block{Fold: "Every interval as a table", Table: t}
}

// columns are those of the table, without counts that are 0 in every interval.
func (s *series) columns(r *takt.Report, name string) (list []column) {
	for _, c := range []struct {
		title string
		of    func(*second) uint64
	}{
		{"due", func(one *second) uint64 { return one.Scheduled }},
		{"ok", func(one *second) uint64 { return one.OK }},
		{"failed", func(one *second) uint64 { return one.Failed }},
		{"dropped", func(one *second) uint64 { return one.Dropped }},
		{"in flight", func(one *second) uint64 { return uint64(max(0, one.InFlightMax)) }},
	} {
		if s.highest(func(one *second) float64 { return float64(c.of(one)) }) > 0 {
			list = append(list, column{c.title, func(one *second) string { return page.Count(c.of(one)) }})
		}
	}
	for _, class := range report.Classes(r) {
		list = append(list, column{page.Words(class), func(one *second) string {
			if !report.Classed(&one.Interval) {
				return "–"
			}
			return page.Count(one.Errors[class])
		}})
	}
	for i, st := range statistics {
		list = append(list, column{name + " " + st.name, func(one *second) string { return human(one.response, i) }})
	}
	list = append(list, column{"max", func(one *second) string { return one.measured(one.ResponseMax) }})
	for i, st := range statistics {
		if s.hasService() {
			list = append(list, column{"service " + st.name, func(one *second) string { return human(one.service, i) }})
		}
	}
	a := timeline.AnnouncedOf(r)
	if a.Goal != "" {
		list = append(list, column{"good", func(one *second) string {
			if one.Good == nil {
				return "–"
			}
			return page.Count(*one.Good)
		}})
	}
	for _, name := range a.Courses() {
		list = append(list, column{page.Words(name) + " p99", func(one *second) string {
			if l, measured := one.Latency[name]; measured {
				return figure.Micros(l.P99)
			}
			return "–"
		}})
	}
	return append(list, column{"lag p99", func(one *second) string { return one.measured(one.ScheduleLagP99) }})
}

// measured writes a figure of the operations of an interval, or a dash if nothing ended in it.
func (s *second) measured(us float64) string {
	if s.OK+s.Failed == 0 {
		return "–"
	}
	return figure.Micros(us)
}

// human writes a statistic of an interval, or a dash if nothing ended in it.
func human(list []float64, i int) string {
	if list == nil {
		return "–"
	}
	return figure.Micros(list[i])
}

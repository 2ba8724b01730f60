package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// curves is an empty chart over the time of the run.
func (r *run) curves() (c part.Curves) {
	if c.Intervals = len(r.Intervals); c.Intervals > 0 {
		c.End = r.Intervals[c.Intervals-1].T
	}
	return c
}

// tinyPart is the length of an interval, as a part of the first, below which no curve shows it: the last one may
// be so short that its rate means nothing.
const tinyPart = 0.2

// curve is a figure of each interval over time.
func (r *run) curve(name, class string, of func(*takt.Interval) (v float64, known bool)) part.Curve {
	c := part.Curve{Name: name, Class: class, Print: page.Short}
	from := 0.0
	for i := range r.Intervals {
		iv := &r.Intervals[i]
		v, known := of(iv)
		tiny := i > 0 && iv.T-from < tinyPart*r.Intervals[0].T
		c.Points = append(c.Points, part.Point{From: from, To: iv.T, Value: v, Unknown: !known || tiny})
		from = iv.T
	}
	return c
}

// rate is a count of each interval, a second.
func (r *run) rate(name, class string, of func(*takt.Interval) uint64) part.Curve {
	c := r.curve(name, class, func(iv *takt.Interval) (float64, bool) { return float64(of(iv)), true })
	for i := range c.Points {
		at := &c.Points[i]
		at.Value /= max(1e-9, at.To-at.From, r.Intervals[0].T/2)
	}
	return c
}

// intervalAt is the interval that contains an instant; after the run it is empty.
func (r *run) intervalAt(t float64) takt.Interval {
	for i := range r.Intervals {
		if t <= r.Intervals[i].T {
			return r.Intervals[i]
		}
	}
	return takt.Interval{}
}

// overTime has everything over time.
func overTime(r *run) part.Part {
	if len(r.Intervals) == 0 || r.primary == "" {
		return part.Part{}
	}
	one := part.Part{ID: "time", Title: r.timeTitle(), Lead: outage.StallSentence(r.Report), Blocks: []part.Block{{In: part.HTML, Drawing: "time"}}}
	if stops := outage.StallsOf(r.Report); len(stops) > 0 {
		t := &part.Table{Caption: "Stalls: the length is the longest wait, or with timeouts the time without an answer. The operations are those that waited, timed out or were dropped meanwhile.", Columns: []part.Column{{Title: "began"}, {Title: "length"}, {Title: "held up or dropped"}}}
		for _, s := range stops {
			t.Add(part.Figure(page.Span(s.FromS)), part.Latency(s.LongestUS), part.Count(s.Held))
		}
		one.Blocks = append(one.Blocks, part.Block{In: part.HTML, Fold: fmt.Sprintf("Stalls (%d)", len(stops)), Table: t})
	}
	rates := part.Block{In: part.HTML, Title: "Due and completed, a second", Curves: r.curves()}
	rates.Curves.High = true
	rates.Curves.List = []part.Curve{
		r.rate("due", "due", func(iv *takt.Interval) uint64 { return iv.Scheduled }),
		r.rate("ok", "ok", func(iv *takt.Interval) uint64 { return iv.OK }),
	}
	if bad := r.rate("failed or dropped", "bad", func(iv *takt.Interval) uint64 { return iv.Failed + iv.Dropped }); bad.Highest() > 0 {
		rates.Curves.List = append(rates.Curves.List, bad)
	}
	one.Blocks = append(append(one.Blocks, rates), r.timed()...)
	for _, class := range Classes(r.Report) {
		c := r.rate("", "bad", func(iv *takt.Interval) uint64 { return iv.Errors[class] })
		for i := range r.Intervals {
			c.Points[i].Unknown = c.Points[i].Unknown || !Classed(&r.Intervals[i])
		}
		one.Blocks = append(one.Blocks, r.strip("Failed a second: "+page.Words(class), c))
	}
	inFlight := r.curve("", "ok", func(iv *takt.Interval) (float64, bool) { return float64(iv.InFlightMax), true })
	if inFlight.Highest() > 0 {
		one.Blocks = append(one.Blocks, r.strip("In flight, at most", inFlight))
	}
	if r.Latency[takt.LatencyScheduleLag].Count > 0 {
		one.Blocks = append(one.Blocks, part.Block{In: part.HTML, Drawing: "lag"})
	}
	return one
}

// mostTimed is the largest number of points in a chart of parts of answers: a run has up to five of them.
const mostTimed = 300

// timed are the latencies of parts of answers, by when they happened.
func (r *run) timed() (blocks []part.Block) {
	for _, name := range timeline.AnnouncedOf(r.Report).Courses() {
		curve := func(says, class string, of func(takt.Course) float64) part.Curve {
			c := r.curve(says, class, func(iv *takt.Interval) (float64, bool) {
				l, measured := iv.Latency[name]
				return of(l), measured
			})
			c.Points, c.Print = part.Fewer(c.Points, mostTimed), figure.Micros
			return c
		}
		b := r.strip(page.Capital(page.Words(name)), curve("p50", "service", func(c takt.Course) float64 { return c.P50 }))
		b.Curves.List = append(b.Curves.List, curve("p99", "response", func(c takt.Course) float64 { return c.P99 }))
		b.Curves.High = true
		blocks = append(blocks, b)
	}
	return blocks
}

// strip is a low chart of a page.
func (r *run) strip(title string, c part.Curve) part.Block {
	b := part.Block{In: part.HTML, Title: title, Curves: r.curves()}
	b.Curves.List = []part.Curve{c}
	return b
}

func (r *run) timeTitle() string {
	service := r.Latency[takt.LatencyService].Count > 0
	switch {
	case service && r.Rate.Intended != nil:
		return "What users felt, and what the server did"
	case service: // a closed loop waits for the server, so it does not know what users would feel
		return "Response time and service time"
	}
	return page.Capital(page.Words(r.primary)) + " time"
}

// mostClasses is the number of classes of failed operations with a chart over time of their own.
const mostClasses = 4

// Classes are the most frequent classes of failed operations, in this order.
func Classes(r *takt.Report) []string {
	sum := map[string]uint64{}
	for i := range r.Intervals {
		sum = takt.PlusErrors(sum, r.Intervals[i].Errors)
	}
	list := slices.SortedFunc(maps.Keys(sum), func(a, b string) int {
		return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a, b))
	})
	return list[:min(mostClasses, len(list))]
}

// Classed reports whether the failed operations of an interval have classes: those of the warm-up have not.
func Classed(iv *takt.Interval) bool { return iv.Failed == 0 || !iv.Warmup }

// heat has the number of operations by time and latency.
func heat(r *run) part.Part {
	if len(r.Intervals) == 0 || r.primary == "" {
		return part.Part{}
	}
	return part.Part{
		ID: "heat", Title: "Every " + page.Words(r.primary) + " time, second by second", Blocks: []part.Block{{In: part.HTML, Drawing: "heat"}},
		Lead: "The stronger the colour of a cell, the more operations it has, on a logarithmic scale for the whole picture.",
	}
}

// everySecond has the table behind the charts over time.
func everySecond(r *run) part.Part {
	return part.Part{Within: "time", Blocks: []part.Block{{In: part.HTML, Drawing: "every second"}}}
}

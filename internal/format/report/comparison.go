package report

import (
	"fmt"
	"slices"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// compared is takt replay's part of Report.Extra["comparison"]: recorded and replayed
// figures.
type compared struct {
	classes  []map[string]any
	statuses []map[string]any
}

// comparisonOf reads the comparison, also of a stored report.
func comparisonOf(r *takt.Report) (c compared, ok bool) {
	all, ok := r.Extra["comparison"].(map[string]any)
	if !ok {
		return c, false
	}
	c.classes, c.statuses = objects(all["classes"]), objects(all["statuses"])
	return c, len(c.classes) > 0
}

func objects(v any) (list []map[string]any) {
	all, _ := v.([]any)
	for _, one := range all {
		if m, ok := one.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

// timed are the classes with a recorded latency.
func (c compared) timed() (list []map[string]any) {
	for _, class := range c.classes {
		if class["recorded_p50_us"] != nil {
			list = append(list, class)
		}
	}
	return list
}

// statusPair is the recorded status, the replayed status, and a verdict on the pair.
func statusPair(s map[string]any) (recorded, replayed, verdict string) {
	code := func(name string) string {
		if n := plainNumber(s[name]); n > 0 {
			return fmt.Sprintf("%.0f", n)
		}
		return "none"
	}
	return code("recorded"), code("replayed"), page.Clean(fmt.Sprint(s["verdict"]))
}

// comparison has recorded and replayed figures.
func comparison(r *run) part.Part {
	c, ok := comparisonOf(r.Report)
	if !ok {
		return part.Part{}
	}
	one := part.Part{ID: "replayed", Title: "Recorded and replayed"}
	if timed := c.timed(); len(timed) > 0 {
		one.Lead = "Only requests that were answered and have a recorded latency."
		one.Blocks = append(one.Blocks, part.Block{In: part.HTML, Drawing: "replayed"}, part.Block{Table: classTable(r, timed)})
	}
	one.Blocks = append(one.Blocks, statuses(c)...)
	return one
}

func classTable(r *run, timed []map[string]any) *part.Table {
	t := &part.Table{Caption: "Recorded latency and replayed response time.", Unit: r.unit, Columns: []part.Column{
		{Title: "latency", Markdown: "recorded and replayed", Page: "class", Words: true, Width: 14}, {Title: "count", Width: 8},
	}}
	for _, group := range []string{"recorded", "response"} {
		for _, q := range []string{"p50", "p95", "p99"} {
			t.Columns = append(t.Columns, part.Column{Title: q, Group: group, Width: 9})
			group = ""
		}
	}
	for _, class := range timed {
		row := []part.Value{part.Words(fmt.Sprint(class["class"])), part.Count(uint64(plainNumber(class["with_latency"])))}
		for _, name := range []string{"recorded_p50_us", "recorded_p95_us", "recorded_p99_us", "response_p50_us", "response_p95_us", "response_p99_us"} {
			row = append(row, part.Latency(plainNumber(class[name])))
		}
		t.Add(row...)
	}
	return t
}

// statuses has a row for each pair of recorded and replayed status; a page has a matrix of them.
func statuses(c compared) []part.Block {
	list := &part.Table{Columns: []part.Column{
		{Title: "status", In: part.Text, Words: true, Width: page.LabelWidth}, {Title: "recorded", Markdown: "status recorded", Width: 10},
		{Title: "replayed", Width: 10}, {Title: "count", Width: 10}, {Words: true, Gap: 3},
	}}
	var from, to []string
	cells := map[[2]string]string{}
	differ := uint64(0)
	for _, s := range c.statuses {
		recorded, replayed, verdict := statusPair(s)
		n := uint64(plainNumber(s["count"]))
		list.Add(part.Value{}, part.Words(recorded), part.Words(replayed), part.Count(n), part.Words(verdict))
		from, to = append(from, recorded), append(to, replayed)
		cells[[2]string{recorded, replayed}] = page.Count(n) + " " + verdict
		if verdict != "same" && verdict != "as good" {
			differ += n
		}
	}
	slices.Sort(from)
	slices.Sort(to)
	from, to = slices.Compact(from), slices.Compact(to)
	matrix := &part.Table{Caption: "Status of the log, by row, against status of the replay, by column.", Columns: []part.Column{{Title: "recorded", Words: true}}}
	for _, code := range to {
		matrix.Columns = append(matrix.Columns, part.Column{Title: "replayed " + code})
	}
	for _, recorded := range from {
		row := []part.Value{part.Words(recorded)}
		for _, replayed := range to {
			row = append(row, part.Words(cells[[2]string{recorded, replayed}]))
		}
		matrix.Add(row...)
	}
	differing := part.Sentence{Text: page.Count(differ) + " answers were neither the same as in the log nor as good."}
	return []part.Block{
		{In: part.Text | part.Markdown, Table: list},
		{In: part.HTML, Title: "Status", Above: []part.Sentence{differing}, Table: matrix},
	}
}

// ReplayedClass has p50, p95 and p99 in µs.
type ReplayedClass struct {
	Name               string
	Recorded, Response [3]float64
}

// Replayed are the classes with a recorded latency, for a chart.
func Replayed(r *takt.Report) (classes []ReplayedClass) {
	c, _ := comparisonOf(r)
	for _, class := range c.timed() {
		one := ReplayedClass{Name: page.Clean(fmt.Sprint(class["class"]))}
		for i, q := range []string{"p50", "p95", "p99"} {
			one.Recorded[i], one.Response[i] = plainNumber(class["recorded_"+q+"_us"]), plainNumber(class["response_"+q+"_us"])
		}
		classes = append(classes, one)
	}
	return classes
}

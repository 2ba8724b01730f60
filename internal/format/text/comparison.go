package text

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

// comparison is takt replay's part of Report.Extra["comparison"]: recorded and replayed
// figures.
type comparison struct {
	classes  []map[string]any
	statuses []map[string]any
}

// comparisonOf reads the comparison, also of a stored report.
func comparisonOf(r *takt.Report) (c comparison, ok bool) {
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
func (c comparison) timed() (list []map[string]any) {
	for _, class := range c.classes {
		if class["recorded_p50_us"] != nil {
			list = append(list, class)
		}
	}
	return list
}

// comparisonColumns are the figures of a class: recorded, then response time.
func comparisonColumns() []string {
	return []string{"recorded_p50_us", "recorded_p95_us", "recorded_p99_us", "response_p50_us", "response_p95_us", "response_p99_us"}
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

// comparisonText writes recorded and replayed figures as two tables.
func comparisonText(p *page.Page, r *takt.Report) {
	c, ok := comparisonOf(r)
	if !ok {
		return
	}
	if timed := c.timed(); len(timed) > 0 {
		const width = 9
		u := tableUnit(r)
		p.Linef("")
		p.Linef("%s", p.Paint(page.Bold, page.Left("", 14)+page.Right("", 8)+page.Right("recorded", 3*width)+page.Right("response", 3*width)))
		head := page.Left("latency, "+u.Name, 14) + page.Right("count", 8)
		for range 2 {
			head += page.Right("p50", width) + page.Right("p95", width) + page.Right("p99", width)
		}
		p.Linef("%s", p.Paint(page.Bold, head))
		for _, class := range timed {
			line := page.Left("  "+page.Clean(fmt.Sprint(class["class"])), 14) + page.Right(page.Count(uint64(plainNumber(class["with_latency"]))), 8)
			for _, name := range comparisonColumns() {
				line += page.Right(strings.TrimRight(u.Aligned(plainNumber(class[name])), " "), width)
			}
			p.Linef("%s", line)
		}
	}
	p.Linef("")
	p.Linef("%s", p.Paint(page.Bold, page.Left("status", page.LabelWidth)+page.Right("recorded", 10)+page.Right("replayed", 10)+page.Right("count", 10)))
	for _, s := range c.statuses {
		recorded, replayed, verdict := statusPair(s)
		p.Linef("%s%s%s%s   %s", page.Left("", page.LabelWidth), page.Right(recorded, 10), page.Right(replayed, 10), page.Right(page.Count(uint64(plainNumber(s["count"]))), 10), verdict)
	}
}

// comparisonMarkdown writes the comparison as Markdown.
func comparisonMarkdown(b *strings.Builder, r *takt.Report) {
	c, ok := comparisonOf(r)
	if !ok {
		return
	}
	if timed := c.timed(); len(timed) > 0 {
		u := tableUnit(r)
		fmt.Fprintf(b, "\n| recorded and replayed, %s | count | recorded p50 | p95 | p99 | response p50 | p95 | p99 |\n|---|---:|---:|---:|---:|---:|---:|---:|\n", u.Name)
		for _, class := range timed {
			fmt.Fprintf(b, "| %s | %.0f |", page.Escape(page.Clean(fmt.Sprint(class["class"]))), plainNumber(class["with_latency"]))
			for _, name := range comparisonColumns() {
				fmt.Fprintf(b, " %s |", strings.TrimSpace(u.Aligned(plainNumber(class[name]))))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n| status recorded | replayed | count | |\n|---:|---:|---:|---|\n")
	for _, s := range c.statuses {
		recorded, replayed, verdict := statusPair(s)
		fmt.Fprintf(b, "| %s | %s | %.0f | %s |\n", recorded, replayed, plainNumber(s["count"]), page.Escape(verdict))
	}
}

package text

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/pkg/takt"
)

// stepsOf are the steps of a scenario, Report.Extra["steps"], also of a stored report.
func stepsOf(r *takt.Report) (list []map[string]any) {
	all, _ := r.Extra[steps.Key].([]any)
	for _, one := range all {
		if step, ok := one.(map[string]any); ok {
			list = append(list, step)
		}
	}
	return list
}

func stepCounts() []string { return []string{"ok", "failed", "skipped"} }

func stepTimes() []string {
	return []string{"response_p50_us", "response_p99_us", "response_max_us", "service_p50_us", "service_p99_us"}
}

// stepsText writes a row for each step.
func stepsText(p *page.Page, r *takt.Report) {
	list := stepsOf(r)
	if len(list) == 0 {
		return
	}
	const name, width = 22, 8
	u := tableUnit(r)
	p.Linef("")
	p.Linef("%s", p.Paint(page.Bold, page.Left("", name+3*width)+page.Right("response", 3*width)+page.Right("service", 2*width)))
	head := page.Left("steps, "+u.Name, name)
	for _, title := range append(stepCounts(), "p50", "p99", "max", "p50", "p99") {
		head += page.Right(title, width)
	}
	p.Linef("%s", p.Paint(page.Bold, head))
	for _, step := range list {
		line := page.Left("  "+fmt.Sprintf("%.20s", page.Clean(fmt.Sprint(step["name"]))), name)
		for _, count := range stepCounts() {
			line += page.Right(page.Count(uint64(plainNumber(step[count]))), width)
		}
		for _, time := range stepTimes() {
			figure := ""
			if step[time] != nil {
				figure = strings.TrimRight(u.Aligned(plainNumber(step[time])), " ")
			}
			line += page.Right(figure, width)
		}
		p.Linef("%s", line)
	}
}

// stepsMarkdown writes the steps as Markdown.
func stepsMarkdown(b *strings.Builder, r *takt.Report) {
	list := stepsOf(r)
	if len(list) == 0 {
		return
	}
	u := tableUnit(r)
	fmt.Fprintf(b, "\n| steps, %s | ok | failed | skipped | response p50 | p99 | max | service p50 | p99 |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n", u.Name)
	for _, step := range list {
		fmt.Fprintf(b, "| %s |", page.Escape(page.Clean(fmt.Sprint(step["name"]))))
		for _, count := range stepCounts() {
			fmt.Fprintf(b, " %.0f |", plainNumber(step[count]))
		}
		for _, time := range stepTimes() {
			figure := ""
			if step[time] != nil {
				figure = strings.TrimSpace(u.Aligned(plainNumber(step[time])))
			}
			fmt.Fprintf(b, " %s |", figure)
		}
		b.WriteString("\n")
	}
}

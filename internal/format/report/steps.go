package report

import (
	"fmt"

	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/steps"
)

// stepsOf has a row for each step of a scenario, and below it one for each of its checks, also of a stored report.
func stepsOf(r *run) part.Part {
	const width = 8
	t := &part.Table{Caption: "The steps of the scenario.", Unit: r.unit, Columns: []part.Column{
		{Title: "steps", Page: "step", Words: true, Width: 22, Cut: 20}, {Title: "ok", Width: width}, {Title: "failed", Width: width}, {Title: "skipped", Width: width},
		{Title: "p50", Group: "response", Width: width}, {Title: "p99", Width: width}, {Title: "max", Width: width}, {Title: "p50", Group: "service", Width: width}, {Title: "p99", Width: width},
	}}
	for _, step := range objects(r.Extra[steps.Key]) {
		row := []part.Value{part.Words(fmt.Sprint(step["name"]))}
		for _, name := range []string{"ok", "failed", "skipped"} {
			row = append(row, part.Count(uint64(plainNumber(step[name]))))
		}
		for _, name := range []string{"response_p50_us", "response_p99_us", "response_max_us", "service_p50_us", "service_p99_us"} {
			v := part.Words("")
			if step[name] != nil {
				v = part.Latency(plainNumber(step[name]))
			}
			row = append(row, v)
		}
		t.Add(row...)
		for _, one := range objects(step["checks"]) {
			row := []part.Value{part.Words("└ " + fmt.Sprint(one["check"])), part.Count(uint64(plainNumber(one["passed"]))), part.Count(uint64(plainNumber(one["failed"])))}
			for len(row) < len(t.Columns) {
				row = append(row, part.Words(""))
			}
			t.Add(row...)
		}
	}
	if t.Rows == nil {
		return part.Part{}
	}
	return part.Part{ID: "steps", Title: "Steps", Blocks: []part.Block{{Table: t}}}
}

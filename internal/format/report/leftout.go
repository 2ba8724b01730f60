package report

import (
	"fmt"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/trace"
)

// leftOut has what a replay left out of its logs, a row for each reason.
func leftOut(r *run) part.Part {
	rows := objects(r.Extra[trace.LeftKey])
	if len(rows) == 0 {
		return part.Part{}
	}
	t := &part.Table{Caption: "What the replay left out of its logs, by reason, with the first line of each.", Columns: []part.Column{
		{Title: "count", Width: page.LabelWidth}, {Title: "what", Words: true, Gap: 3}, {Title: "first line", Words: true, Gap: 2}, {Title: "why", Words: true, Gap: 2},
	}}
	text := func(v any) part.Value { return part.Words(page.Clean(fmt.Sprint(v))) }
	for _, row := range rows {
		t.Add(part.Count(uint64(plainNumber(row["count"]))), text(row["kind"]), text(row["first"]), text(row["why"]))
	}
	return part.Part{ID: "left-out", Title: "Left out of the log", Blocks: []part.Block{{Title: "left out of the log", Table: t}}}
}

package report

import (
	"fmt"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// outages has the times in which the target did not do its work.
func outages(r *run) part.Part {
	if len(r.Outages) == 0 {
		return part.Part{}
	}
	t := &part.Table{Caption: "From the first lost connection or failed attempt to the success of each affected part.", Columns: []part.Column{
		{Title: "from", Markdown: "outage from"}, {Title: "to"}, {Title: "first success"}, {Title: "failed"}, {Title: "retried"},
		{Title: "lost"}, {Title: "doubled"}, {Title: "out of order"},
		{Title: "cause", Page: "what was out, and the first error", Words: true, Below: true, Mark: "    "},
	}}
	for i := range r.Outages {
		o := &r.Outages[i]
		to, first := "the end", "none"
		if o.To != nil {
			to = tenths(*o.To)
		}
		if o.FirstSuccess != nil {
			first = "after " + tenths(*o.FirstSuccess)
		}
		t.Add(part.Words(tenths(o.From)), part.Words(to), part.Words(first), part.Count(o.Failed), part.Count(o.Retried),
			maybe(o.Lost), maybe(o.Doubled), maybe(o.Reordered), part.Words(outageCause(o)))
	}
	return part.Part{ID: "outages", Title: "Outages", Blocks: []part.Block{{Title: "outages", Table: t}}}
}

// outageCause says what was out, and the first error.
func outageCause(o *takt.Outage) string {
	more := ""
	if o.Parts > 1 {
		more = fmt.Sprintf(" and %d more", o.Parts-1)
	}
	return page.Clean(o.First) + more + ": " + page.Clean(o.Cause)
}

// tenths writes seconds of an outage: to the millisecond below a second.
func tenths(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.3fs", s)
	}
	return fmt.Sprintf("%.1fs", s)
}

// maybe is a count; a dash: nobody counted.
func maybe(n *uint64) part.Value {
	if n == nil {
		return part.Unknown()
	}
	return part.Count(*n)
}

package report

import (
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
)

// exports has what became of the figures of --export. Text has a sentence for each receiver.
func exports(r *run) part.Part {
	t := &part.Table{Caption: "What became of the figures of --export.", Columns: []part.Column{
		{In: part.Text, Below: true, Mark: "  "}, {Title: "receiver", In: part.HTML, Words: true}, {Title: "sent", In: part.HTML}, {Title: "lost", In: part.HTML},
		{Title: "newest fault", In: part.HTML, Words: true},
	}}
	for i := range r.Exports {
		e := &r.Exports[i]
		text := page.Clean(e.To) + ": " + page.Count(e.Sent) + " sent, " + page.Count(e.Lost) + " lost"
		if e.Error != "" {
			text += "; newest fault: " + page.Clean(e.Error)
		}
		t.Add(part.Words(text), part.Words(e.To), part.Count(e.Sent), part.Count(e.Lost), part.Words(e.Error))
	}
	if t.Rows == nil {
		return part.Part{}
	}
	return part.Part{ID: "exports", Title: "Exports", Blocks: []part.Block{{In: part.Text | part.HTML, Title: "exports", Table: t}}}
}

package text

import (
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

// exports writes what became of the figures of --export.
func exports(p *page.Page, r *takt.Report) {
	if len(r.Exports) == 0 {
		return
	}
	p.Linef("")
	p.Linef("%s", p.Paint(page.Bold, "exports"))
	for i := range r.Exports {
		e := &r.Exports[i]
		text := page.Clean(e.To) + ": " + page.Count(e.Sent) + " sent, " + page.Count(e.Lost) + " lost"
		if e.Error != "" {
			text += "; newest fault: " + page.Clean(e.Error)
		}
		p.Bullet("  ", text)
	}
}

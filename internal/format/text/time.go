package text

import (
	"fmt"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

// slowest is the smallest share of operations whose time is shown separately.
const slowest = 0.01

// causes are the parts of the response time, in the usual order of a search for a fault.
var causes = []struct {
	name, meaning string
	of            func(takt.Parts) float64
}{
	{"target", "service time without the network", func(p takt.Parts) float64 { return p.Target }},
	{"network", "connecting, and one round trip a request", func(p takt.Parts) float64 { return p.Network }},
	{"queue", "the target had all connections, or their streams", func(p takt.Parts) float64 { return p.Queue }},
	{"input", "the list of operations had nothing yet", func(p takt.Parts) float64 { return p.Input }},
	{"takt late", "takt was late or busy", func(p takt.Parts) float64 { return p.Late }},
	{"takt unread", "answers lay unread in takt", func(p takt.Parts) float64 { return p.Unread }},
	{"host limit", "this host refused", func(p takt.Parts) float64 { return p.Host }},
}

// shares shows the response time by cause.
func shares(p *page.Page, r *takt.Report) {
	a := r.Attribution
	if a.Whole().Total() <= 0 {
		return
	}
	all := a.Whole()
	from, tail := a.Slowest(slowest)
	p.Linef("")
	p.Linef("%s", p.Paint(page.Bold, fmt.Sprintf("%s%s%s", page.Left("time", page.LabelWidth+2), page.Right("all", 9), page.Right("above "+figure.Micros(from), 17))))
	for _, c := range causes {
		whole, slow := c.of(all)/all.Total(), c.of(tail)/max(1e-12, tail.Total())
		if whole < 0.0005 && slow < 0.0005 {
			continue
		}
		p.Linef("  %s%s%s   %s", page.Left(c.name, page.LabelWidth), page.Right(page.Percent(whole, 1), 9), page.Right(page.Percent(slow, 1), 17), c.meaning)
	}
}

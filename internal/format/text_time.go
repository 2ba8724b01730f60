package format

import (
	"fmt"

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
	{"queue", "the target had all connections", func(p takt.Parts) float64 { return p.Queue }},
	{"input", "the list of operations had nothing yet", func(p takt.Parts) float64 { return p.Input }},
	{"takt late", "takt was late or busy", func(p takt.Parts) float64 { return p.Late }},
	{"takt unread", "answers lay unread in takt", func(p takt.Parts) float64 { return p.Unread }},
	{"host limit", "this host refused", func(p takt.Parts) float64 { return p.Host }},
}

// shares shows the response time by cause.
func shares(p *page, r *takt.Report) error {
	a := r.Attribution
	if a.Whole().Total() <= 0 {
		return nil
	}
	all := a.Whole()
	from, tail := a.Slowest(slowest)
	p.linef("")
	p.linef("%s", p.paint(bold, fmt.Sprintf("%s%s%s", left("time", labelWidth+2), right("all", 9), right("above "+human(from), 17))))
	for _, c := range causes {
		whole, slow := c.of(all)/all.Total(), c.of(tail)/max(1e-12, tail.Total())
		if whole < 0.0005 && slow < 0.0005 {
			continue
		}
		p.linef("  %s%s%s   %s", left(c.name, labelWidth), right(percent(whole, 1), 9), right(percent(slow, 1), 17), c.meaning)
	}
	return nil
}

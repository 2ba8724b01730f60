package report

import (
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// slowest is the smallest share of operations whose time is shown separately, and leastShare the smallest share
// of the time that has a row.
const (
	slowest    = 0.01
	leastShare = 0.0005
)

// reasons are the parts of the response time, in the usual order of a search for a fault.
var reasons = []struct {
	name, meaning string
	class, legend string // in a page
	of            func(takt.Parts) float64
}{
	{"target", "service time without the network", "share-1", "target", func(p takt.Parts) float64 { return p.Target }},
	{"network", "connecting, and one round trip a request", "share-2", "network", func(p takt.Parts) float64 { return p.Network }},
	{"queue", "the target had all connections, or their streams", "share-3", "queue", func(p takt.Parts) float64 { return p.Queue }},
	{"input", "the list of operations had nothing yet", "share-4", "input", func(p takt.Parts) float64 { return p.Input }},
	{"takt late", "takt was late or busy", "share-bad", "takt and its host", func(p takt.Parts) float64 { return p.Late }},
	{"takt unread", "answers lay unread in takt", "share-bad", "", func(p takt.Parts) float64 { return p.Unread }},
	{"host limit", "this host refused", "share-bad", "", func(p takt.Parts) float64 { return p.Host }},
}

// causes has the response time by cause, of all operations and of the slowest.
func causes(r *run) part.Part {
	all := r.Attribution.Whole()
	if all.Total() <= 0 {
		return part.Part{}
	}
	from, tail := r.Attribution.Slowest(slowest)
	above := "above " + figure.Micros(from)
	t := &part.Table{Caption: "Response time by cause.", Columns: []part.Column{
		{Title: "time", Page: "cause", Words: true, Width: page.LabelWidth + 2}, {Title: "all", Width: 9}, {Title: above, Width: 17}, {Page: "what it is", Words: true, Gap: 3},
	}}
	var bars [2][]part.Share
	for _, c := range reasons {
		whole, slow := c.of(all)/all.Total(), c.of(tail)/max(1e-12, tail.Total())
		if whole >= leastShare || slow >= leastShare {
			t.Add(part.Words(c.name), part.Ratio(whole, 1), part.Ratio(slow, 1), part.Words(c.meaning))
		}
		bars[0] = append(bars[0], part.Share{Class: c.class, Part: whole})
		bars[1] = append(bars[1], part.Share{Name: c.legend, Class: c.class, Part: slow})
	}
	return part.Part{ID: "causes", Title: "Where the time went", Blocks: []part.Block{
		{In: part.HTML, Title: "All operations", Bar: bars[0]},
		{In: part.HTML, Title: "The slowest, " + above, Bar: bars[1]},
		{In: part.Text | part.HTML, Table: t},
	}}
}

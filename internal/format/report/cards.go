package report

import (
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// Cards are the key figures of a page.
func Cards(r *takt.Report) (list []part.Card) {
	name := Primary(r)
	l, service, own := r.Latency[name], r.Latency[takt.LatencyService], ownOf(r)
	for _, s := range statistics() {
		if l.Count == 0 || s.name != "p50" && s.name != "p99" && s.name != "max" {
			continue
		}
		beside := own.note(s.name)
		if beside == "" && name == takt.LatencyResponse && service.Count > 0 {
			beside = "service " + figure.Micros(s.of(service))
		}
		value := figure.Micros(s.of(l))
		if isMax(&l, s.name) {
			value, beside = "–", "the maximum of "+page.Plural(int(l.Count), "operation")
		}
		list = append(list, part.Card{Name: page.Words(name) + " " + s.name, Value: value, Note: beside})
	}
	rate := part.Card{Name: "achieved", Value: page.Rate(page.Round3(r.Rate.Achieved)), Note: "closed loop"}
	switch {
	case r.Rate.Intended != nil:
		rate.Note = "of " + page.Rate(page.Round3(Intended(r))) + " intended"
	case r.Latency[takt.LatencyResponse].Count == 0:
		rate.Note = "received"
	}
	c := r.Counts
	return append(list, rate, NotOK(r, c.Failed+c.Dropped+c.Unfinished, ""))
}

// NotOK is the key figure of n operations that were not ok.
func NotOK(r *takt.Report, n uint64, more string) part.Card {
	return part.Card{Name: "not ok", Value: page.Percent(float64(n), float64(r.Counts.Scheduled)), Note: page.Count(n) + " of " + page.Count(r.Counts.Scheduled) + more}
}

// note says what a statistic was without the lateness; "": it is not the generator's own.
func (o own) note(statistic string) string {
	for _, f := range o {
		if f.name == statistic {
			return figure.Micros(f.onTime) + " without takt's own lateness"
		}
	}
	return ""
}

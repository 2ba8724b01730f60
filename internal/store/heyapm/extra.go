package heyapm

import (
	"math"

	"github.com/taktload/takt/pkg/takt"
)

// responses are all answers, and those of 202; nil: the document does not say.
func (d *document) responses() (all, accepted *int64) {
	return first(d.TotalRes, d.TotalResponses), first(d.TotalRes202, d.Accepted)
}

// counts are those of requests. hey-apm kept neither those without an answer nor, of
// the protocol v2, the answers themselves: there a flush of a body is what was sent.
func (d *document) counts() (c takt.Counts) {
	all, accepted := d.responses()
	switch {
	case all != nil && accepted != nil:
		c.OK = uint64(max(*accepted, 0))
		c.Failed = uint64(max(*all-*accepted, 0))
	case all != nil:
		c.OK = uint64(max(*all, 0))
	case d.Flushes != nil:
		c.OK = uint64(max(*d.Flushes, 0))
	}
	c.Sent = c.OK + c.Failed
	c.Scheduled = c.Sent
	return c
}

// docsPerRequest is how many documents a request makes: an event, and each its spans.
func (d *document) docsPerRequest() float64 { return number(d.Events) * float64(1+d.Spans) }

// extra has the metrics of the server, by hey-apm's formulas. Where the document has
// what they need they are computed; else what it says is taken.
//
//	pushed     = body × responses ÷ elapsed      bytes per second, uncompressed
//	accepted   = body × responses 202 ÷ elapsed
//	throughput = documents indexed ÷ elapsed
//	latency    = 1000 ÷ (responses 202 ÷ elapsed)  ms; not a response time
//	index      = documents indexed ÷ (responses 202 × documents per request)
//	efficiency = 60 × accepted ÷ max_rss
func (d *document) extra() map[string]any {
	elapsed := seconds(d.elapsed())
	requests, ok := d.responses()
	accepted := number(ok)
	body := number(first(d.ReqSize, d.RequestSize, d.BodySize))
	rss := value(d.MaxRSS)
	if rss <= 0 {
		rss = math.NaN() // hey-apm could not measure it
	}
	indexed := number(first(d.TotalIndexed, d.Indexed))
	acceptedBPS := known(body*accepted/elapsed, value(d.AcceptedBPS))
	extra := map[string]any{"imported_from": "hey-apm"}
	for name, v := range map[string]float64{
		"pushed":            known(body*number(first(requests, d.Flushes))/elapsed, value(d.PushedBPS), value(d.Pushed)/elapsed),
		"accepted":          acceptedBPS,
		"accepted_requests": accepted,
		"throughput":        known(indexed/elapsed, value(d.Throughput)),
		"latency":           known(1000*elapsed/accepted, value(d.LatencyMS)),
		"index":             known(indexed/(accepted*d.docsPerRequest()), value(d.ActualOfWhole)),
		"max_rss":           rss,
		"efficiency":        known(60*acceptedBPS/rss, d.otherEfficiency()),
	} {
		if isKnown(v) {
			extra[name] = v
		}
	}
	return extra
}

// otherEfficiency is what the document says. Of the protocol v2 it is another figure,
// documents per second and MB, which must not stand under the same name.
func (d *document) otherEfficiency() float64 {
	if d.APIs != "" {
		return math.NaN()
	}
	return value(d.Efficiency)
}

// A figure that is missing is NaN, and so is what is computed of it. What divides by 0 is
// missing too.

func value(f *float64) float64 {
	if f == nil {
		return math.NaN()
	}
	return *f
}

func number(n *int64) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}

func isKnown(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// known is the first that is known, or else NaN.
func known(of ...float64) float64 {
	for _, f := range of {
		if isKnown(f) {
			return f
		}
	}
	return math.NaN()
}

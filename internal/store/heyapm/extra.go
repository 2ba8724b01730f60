package heyapm

import "github.com/taktload/takt/pkg/takt"

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
func (d *document) docsPerRequest() *float64 {
	if d.Events == nil {
		return nil
	}
	return ptr(float64(*d.Events) * float64(1+d.Spans))
}

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
	elapsed := ptr(seconds(d.elapsed()))
	all, ok := d.responses()
	body := number(first(d.ReqSize, d.RequestSize, d.BodySize))
	requests, accepted := number(all), number(ok)
	if requests == nil {
		requests = number(d.Flushes)
	}
	rss := d.MaxRSS
	if rss != nil && *rss <= 0 {
		rss = nil // hey-apm could not measure it
	}
	indexed := number(first(d.TotalIndexed, d.Indexed))

	pushed := first(over(times(body, requests), elapsed), d.PushedBPS, over(d.Pushed, elapsed))
	acceptedBPS := first(over(times(body, accepted), elapsed), d.AcceptedBPS)
	extra := map[string]any{"imported_from": "hey-apm"}
	for name, v := range map[string]*float64{
		"pushed":            pushed,
		"accepted":          acceptedBPS,
		"accepted_requests": accepted,
		"throughput":        first(over(indexed, elapsed), d.Throughput),
		"latency":           first(over(times(ptr(1000), elapsed), accepted), d.LatencyMS),
		"index":             first(over(indexed, times(accepted, d.docsPerRequest())), d.ActualOfWhole),
		"max_rss":           rss,
		"efficiency":        first(over(times(ptr(60), acceptedBPS), rss), d.otherEfficiency()),
	} {
		if v != nil {
			extra[name] = *v
		}
	}
	return extra
}

// otherEfficiency is what the document says. Of the protocol v2 it is another figure,
// documents per second and MB, which must not stand under the same name.
func (d *document) otherEfficiency() *float64 {
	if d.APIs != "" {
		return nil
	}
	return d.Efficiency
}

// The arithmetic of figures that may be missing; what divides by 0 is missing too.

func number(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return ptr(float64(*n))
}

func times(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return ptr(*a * *b)
}

func over(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	return ptr(*a / *b)
}

func ptr(f float64) *float64 { return &f }

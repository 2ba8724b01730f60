package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// reader decodes histograms into the same memory.
type reader struct {
	decoder hist.Decoder
	scratch *hist.Histogram
	sparse  hist.Sparse
}

// readInterval is read for an interval, whose histogram uses little of its range: there may be 2400 of
// them in a report, and a thousand reports in a merge.
func (r *reader) readInterval(encoded string) (*hist.Sparse, error) {
	r.sparse.Reset()
	return &r.sparse, r.sparse.Merge(&r.decoder, encoded)
}

// read returns a histogram that is valid until the next call.
func (r *reader) read(encoded string) (*hist.Histogram, error) {
	if r.scratch == nil {
		r.scratch = hist.New()
	}
	r.scratch.Reset()
	return r.scratch, r.decoder.Merge(r.scratch, encoded)
}

// latencies compares each latency with its histogram, and the number of its values with the
// counts.
func (c *checker) latencies() {
	if n := len(c.r.Latency); n > maxNames {
		c.fault("latency has %d names, more than %d", n, maxNames)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.r.Latency)) {
		c.latency(fmt.Sprintf("latency.%.40s", name), c.r.Latency[name])
	}
	n := c.r.Counts
	response := c.r.Latency[takt.LatencyResponse]
	if response.Count == 0 { // a receive-only or imported run
		return
	}
	c.holds(takt.LatencyResponse, c.ended, "ok + failed + unfinished")
	c.holds(takt.LatencyOnTime, c.ended, "ok + failed + unfinished")
	c.holds(takt.LatencyResponseOK, n.OK, "ok")
	for _, name := range []string{takt.LatencyService, takt.LatencySendDelay, takt.LatencyScheduleLag} {
		c.holds(name, n.Sent, "sent")
	}
	if n.OK+n.Failed > n.Sent {
		c.fault("counts.sent is %d, but ok + failed are %d", n.Sent, n.OK+n.Failed)
	}
}

// holds compares the values of a latency with a count.
func (c *checker) holds(name string, want uint64, what string) {
	if l, ok := c.r.Latency[name]; ok && l.Count != want {
		c.fault("latency.%s.count is %d, but the %s of counts are %d", name, l.Count, what, want)
	}
}

// proof checks the intervals of a latency and its counts by block.
func (c *checker) proof(field string, l takt.Latency) {
	if l.Blocks != nil {
		switch blocks, err := proof.Read(l.Blocks); {
		case err != nil:
			c.fault("%s.blocks: %v", field, err)
		case blocks.Count() != l.Count:
			c.fault("%s.count is %d, but its blocks hold %d values", field, l.Count, blocks.Count())
		}
	}
	if l.CI == nil {
		return
	}
	if !(l.CI.Level > 0 && l.CI.Level < 1) {
		c.fault("%s.ci.level is %v, not between 0 and 1", field, l.CI.Level)
	}
	c.within(field+".ci.independent", l.CI.Independent, float64(l.Count)*(1+sumError))
	for _, s := range proof.Intervals(&l) {
		if s.Range == nil {
			continue
		}
		name := field + ".ci." + s.Field
		c.above(name, figure{"low", s.Range.Low}, figure{"min_us", l.Min})
		c.above(name, figure{s.Field, s.Value}, figure{"low", s.Range.Low})
		c.above(name, figure{"high", s.Range.High}, figure{s.Field, s.Value})
		c.above(name, figure{"max_us", l.Max}, figure{"high", s.Range.High})
	}
}

func (c *checker) latency(field string, l takt.Latency) {
	c.count(field+".count", l.Count)
	c.proof(field, l)
	if l.HDR == "" {
		c.summary(field, l)
		return
	}
	h, err := c.reader.read(l.HDR)
	if err != nil {
		c.fault("%s.hdr: %v", field, err)
		return
	}
	if h.Count() != l.Count {
		c.fault("%s.count is %d, but its histogram holds %d values", field, l.Count, h.Count())
		return
	}
	own := figures(h.Figures())
	for i, f := range figures(l) {
		c.same(field+"."+f.name, f.v, own[i].v)
	}
}

// figure is a figure of a latency with its field's name.
type figure struct {
	name string
	v    float64
}

// figures are the figures of l. From min_us to max_us each is at least the one before; the
// last two are the mean and the deviation.
func figures(l takt.Latency) []figure {
	return []figure{
		{"min_us", l.Min}, {"p50_us", l.P50}, {"p75_us", l.P75}, {"p90_us", l.P90}, {"p95_us", l.P95},
		{"p99_us", l.P99}, {"p99_9_us", l.P99_9}, {"p99_99_us", l.P99_99}, {"max_us", l.Max},
		{"mean_us", l.Mean}, {"stdev_us", l.Stdev},
	}
}

// summary checks a latency without a histogram for contradictions.
func (c *checker) summary(field string, l takt.Latency) {
	list := figures(l)
	for _, f := range list {
		c.within(field+"."+f.name, f.v, maxMicros)
	}
	if l.Count == 0 && l.Max > 0 {
		c.fault("%s.max_us is %v, but its count is 0", field, l.Max)
	}
	const ordered = 9
	low := list[0]
	for _, high := range list[1:ordered] {
		if high.v == 0 {
			continue // not in the report
		}
		c.above(field, high, low)
		low = high
	}
	c.above(field, figure{"mean_us", l.Mean}, figure{"min_us", l.Min})
	c.above(field, figure{"max_us", l.Max}, figure{"mean_us", l.Mean})
}

func (c *checker) above(field string, high, low figure) {
	if high.v < low.v*(1-rounding) {
		c.fault("%s.%s is %v, but %s is %v", field, high.name, high.v, low.name, low.v)
	}
}

// same compares a figure with the histogram's. Floating-point sums may differ in their last
// digits between versions.
func (c *checker) same(field string, got, want float64) {
	if math.Abs(got-want) > 1e-6*math.Abs(want) {
		c.fault("%s is %v, but its histogram says %v", field, got, want)
	}
}

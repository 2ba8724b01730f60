package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// intervals compares each interval with its histograms, and their sums with those of the run.
func (c *checker) intervals() {
	list := c.r.Intervals
	if len(list) > takt.MaxIntervals {
		c.fault("intervals are %d, more than %d", len(list), takt.MaxIntervals)
		return
	}
	if span := c.r.IntervalS; len(list) > 0 && (span < 1 || span != math.Trunc(span)) {
		c.fault("interval_s is %v, not a whole number of seconds", span)
	}
	var sum takt.Counts
	before := 0.0
	for i, iv := range list {
		field := fmt.Sprintf("intervals.%d", i)
		c.end(field+".t_s", iv.T, before)
		before = iv.T
		c.interval(field, iv)
		sum.Scheduled += min(iv.Scheduled, maxCount)
		sum.OK += min(iv.OK, maxCount)
		sum.Failed += min(iv.Failed, maxCount)
		sum.Dropped += min(iv.Dropped, maxCount)
	}
	if len(list) > 0 {
		c.intervalSums(sum)
	}
}

// end checks the end of an interval against that of the interval before.
func (c *checker) end(field string, t, before float64) {
	c.seconds(field, t)
	if t < before {
		c.fault("%s is %v, but the interval before ends at %v", field, t, before)
	}
}

// errors checks the failures of an interval by class. Failures of the warm-up have no class.
func (c *checker) errors(field string, iv takt.Interval) {
	var sum uint64
	for _, class := range slices.Sorted(maps.Keys(iv.Errors)) {
		c.count(field+"."+class, iv.Errors[class])
		sum += min(iv.Errors[class], maxCount)
	}
	if sum > iv.Failed {
		c.fault("%s: the classes have %d failed operations, the interval has %d", field, sum, iv.Failed)
	}
}

func (c *checker) interval(field string, iv takt.Interval) {
	c.count(field+".scheduled", iv.Scheduled)
	c.count(field+".ok", iv.OK)
	c.count(field+".failed", iv.Failed)
	c.count(field+".dropped", iv.Dropped)
	c.errors(field+".errors", iv)
	if iv.Lag != nil && (*iv.Lag < 0 || *iv.Lag > maxCount) {
		c.fault("%s.lag is %d, which cannot be", field, *iv.Lag)
	}
	c.within(field+".bytes.sent", float64(iv.Bytes.Sent), maxCount)
	c.within(field+".bytes.received", float64(iv.Bytes.Received), maxCount)
	c.within(field+".in_flight_max", float64(iv.InFlightMax), maxCount)
	c.within(field+".schedule_lag_p99_us", iv.ScheduleLagP99, maxMicros)
	h, err := c.reader.readInterval(iv.ServiceHDR)
	if err != nil {
		c.fault("%s.service_hdr: %v", field, err)
	}
	c.service += min(h.Count(), maxCount)
	if h, err = c.reader.readInterval(iv.HDR); err != nil {
		c.fault("%s.hdr: %v", field, err)
		return
	}
	c.responses += min(h.Count(), maxCount)
	c.same(field+".response_p50_us", iv.ResponseP50, hist.Micros(h.Quantile(0.5)))
	c.same(field+".response_p99_us", iv.ResponseP99, hist.Micros(h.Quantile(0.99)))
	c.same(field+".response_max_us", iv.ResponseMax, hist.Micros(h.Max()))
	c.timed(field, iv)
}

// timed compares the further latencies of an interval with their histograms, and limits them.
func (c *checker) timed(field string, iv takt.Interval) {
	if iv.Good != nil {
		c.count(field+".good", *iv.Good)
		if *iv.Good > iv.OK {
			c.fault("%s.good is %d, more than the %d successful operations", field, *iv.Good, iv.OK)
		}
	}
	if len(iv.Latency) > timeline.MaxTimed {
		c.fault("%s.latency has %d latencies, more than %d", field, len(iv.Latency), timeline.MaxTimed)
	}
	for _, name := range timeline.Names(&iv) {
		l, field := iv.Latency[name], field+".latency."+name
		h, err := c.reader.readInterval(l.HDR)
		if err != nil {
			c.fault("%s.hdr: %v", field, err)
			return
		}
		if n := c.r.Latency[name].Count; h.Count() > n && c.r.Latency != nil { // nil: the run goes on
			c.fault("%s.hdr holds %d values, but latency.%s.count is %d", field, h.Count(), name, n)
		}
		c.same(field+".p50_us", l.P50, hist.Micros(h.Quantile(0.5)))
		c.same(field+".p99_us", l.P99, hist.Micros(h.Quantile(0.99)))
		c.same(field+".max_us", l.Max, hist.Micros(h.Max()))
	}
}

// goodput compares the operations that met their conditions with all.
func (c *checker) goodput() {
	g := c.r.Goodput
	if g == nil {
		return
	}
	c.count("goodput.good", g.Good)
	c.count("goodput.undecided", g.Undecided)
	if n := c.r.Counts.OK; g.Good > n || g.Undecided > n-g.Good {
		c.fault("goodput has %d good and %d undecided operations, but counts.ok is %d", g.Good, g.Undecided, n)
	}
	for _, condition := range slices.Sorted(maps.Keys(g.Missed)) {
		if n := g.Missed[condition]; n > c.r.Counts.OK {
			c.fault("goodput.missed has %d operations of a condition, but counts.ok is %d", n, c.r.Counts.OK)
		}
	}
	want := *g
	want.Of(c.r.Counts.Scheduled, c.r.DurationS)
	if math.Abs(g.Percent-want.Percent) > 1e-6 || math.Abs(g.PerS-want.PerS) > 1e-6*want.PerS {
		c.fault("goodput is %v %%, %v/s, but %d good operations are %v %%, %v/s", g.Percent, g.PerS, g.Good, want.Percent, want.PerS)
	}
}

// intervalSums: an operation is in the interval in which it ended, also in the warm-up.
func (c *checker) intervalSums(sum takt.Counts) {
	n, w := c.r.Counts, c.r.WarmupCounts
	for _, s := range []struct {
		field     string
		got, want uint64
	}{
		{"scheduled", sum.Scheduled, n.Scheduled + w.Scheduled}, {"ok", sum.OK, n.OK + w.OK},
		{"failed", sum.Failed, n.Failed + w.Failed}, {"dropped", sum.Dropped, n.Dropped + w.Dropped},
	} {
		if s.got != s.want && !c.confessed() {
			c.fault("the %s of intervals are %d together, but those of counts and warmup_counts are %d", s.field, s.got, s.want)
		}
	}
	if c.r.Latency[takt.LatencyResponse].Count == 0 {
		return
	}
	if want := c.ended + c.warm; c.responses != want {
		c.fault("the histograms of intervals hold %d response times, but counts and warmup_counts say %d", c.responses, want)
	}
	if want := n.Sent + w.Sent; c.service != want {
		c.fault("the histograms of intervals hold %d service times, but counts.sent and warmup_counts.sent are %d", c.service, want)
	}
}

// serverSeconds checks the seconds of the server under test.
func (c *checker) serverSeconds() {
	list := c.r.ServerSeconds
	if len(list) > takt.MaxIntervals {
		c.fault("server_seconds are %d, more than %d", len(list), takt.MaxIntervals)
		return
	}
	before := math.Inf(-1)
	for i, s := range list {
		field := fmt.Sprintf("server_seconds.%d", i)
		c.seconds(field+".t_s", s.T)
		if !(s.From >= before && s.From <= s.T) {
			c.fault("%s.from_s is %v, not between %v and its end, %v", field, s.From, before, s.T)
		}
		before = s.T
		for _, name := range slices.Sorted(maps.Keys(s.Figures)) {
			c.within(field+"."+name, s.Figures[name], 1<<62)
		}
	}
}

// outages checks the outages and the commands of --fault.
func (c *checker) outages() {
	if n := len(c.r.Outages); n > takt.MaxOutages {
		c.fault("outages are %d, more than %d", n, takt.MaxOutages)
		return
	}
	before := 0.0
	for i, o := range c.r.Outages {
		field := fmt.Sprintf("outages.%d", i)
		c.span(field, o.From, o.To)
		if o.From < before {
			c.fault("%s.from_s is %v, before that of the outage before it, %v", field, o.From, before)
		}
		before = o.From
		if o.FirstSuccess != nil {
			c.seconds(field+".first_success_s", *o.FirstSuccess)
		}
		if o.Parts < 1 {
			c.fault("%s.parts is %d; an outage affects one at least", field, o.Parts)
		}
	}
	for i, f := range c.r.Faults {
		c.span(fmt.Sprintf("faults.%d", i), f.From, f.To)
	}
	if o := c.r.Overload; o != nil {
		c.seconds("overload.from_s", o.FromS)
		c.within("overload.due_per_s", o.DuePerS, 1<<62)
		c.within("overload.completed_per_s", o.CompletedPerS, o.DuePerS)
		c.within("overload.growth_us_per_s", o.GrowthUSPerS, 1<<62)
		c.within("overload.in_flight", float64(o.InFlight), 1<<62)
	}
	for i, s := range c.r.Stalls {
		field := fmt.Sprintf("stalls.%d", i)
		c.span(field, s.FromS, &s.ToS)
		c.within(field+".longest_us", s.LongestUS, maxMicros)
	}
}

// span checks that a time ends after its begin.
func (c *checker) span(field string, from float64, to *float64) {
	c.seconds(field+".from_s", from)
	if to == nil {
		return
	}
	c.seconds(field+".to_s", *to)
	if *to < from {
		c.fault("%s.to_s is %v, before its begin, %v", field, *to, from)
	}
}

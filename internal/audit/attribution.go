package audit

import (
	"fmt"
	"math"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// sumError is the largest relative difference between the parts of the response time and its
// mean times its count: a histogram has three digits, and its mean uses the middles of its
// buckets.
const sumError = 0.01

// attribution compares the parts of the response time with its histogram.
func (c *checker) attribution() {
	a := c.r.Attribution
	if len(a.Slices) == 0 && a.RTT == 0 {
		return
	}
	c.within("attribution.rtt_us", a.RTT, maxMicros)
	if len(a.Slices) > maxNames {
		c.fault("attribution.slices has %d entries, more than %d", len(a.Slices), maxNames)
		return
	}
	var operations uint64
	before := 0.0
	for i, s := range a.Slices {
		field := fmt.Sprintf("attribution.slices.%d", i)
		c.slice(field, s)
		if s.Below <= before || math.Exp2(math.Round(math.Log2(s.Below))) != s.Below {
			c.fault("%s.below_us is %v, which is not a power of two above %v", field, s.Below, before)
		}
		before = s.Below
		operations += min(s.Operations, maxCount)
	}
	response := c.r.Latency[takt.LatencyResponse]
	if operations != response.Count {
		c.fault("attribution.slices have %d operations, and latency.response has %d", operations, response.Count)
	}
	total, sum := a.Whole().Total(), response.Mean*float64(response.Count)/1e6
	if !c.r.Warned(warn.Clamped) && math.Abs(total-sum) > sumError*max(total, sum)+1e-6*float64(response.Count) {
		c.fault("attribution.slices add up to %.6g s, and latency.response to %.6g s", total, sum)
	}
}

// slice checks a slice against its bounds.
func (c *checker) slice(field string, s takt.Slice) {
	if s.Operations == 0 || s.Operations > maxCount {
		c.fault("%s.operations is %d, not 1 to %d", field, s.Operations, uint64(maxCount))
	}
	for _, p := range []struct {
		name string
		v    float64
	}{
		{"late_s", s.Late}, {"unread_s", s.Unread}, {"input_s", s.Input}, {"host_s", s.Host},
		{"queue_s", s.Queue}, {"network_s", s.Network}, {"target_s", s.Target},
	} {
		c.within(field+"."+p.name, p.v, maxSeconds*maxCount)
	}
	least := s.Below / 2
	if s.Below <= 1 {
		least = 0
	}
	mean := 1e6 * s.Total() / float64(max(1, s.Operations))
	if mean < least*(1-sumError) || mean > s.Below*(1+sumError) {
		c.fault("%s has operations of %v µs on average, not %v to %v", field, mean, least, s.Below)
	}
}

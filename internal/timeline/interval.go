package timeline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Then is two neighbours of one run as one interval, without what Summarize sets. The backlog of a
// consumer is the later one. takt.Interval{Warmup: true} is a neighbour that changes nothing.
func Then(a, b takt.Interval) takt.Interval {
	sum := both(a, b)
	sum.InFlightMax = max(a.InFlightMax, b.InFlightMax)
	if sum.Lag = b.Lag; b.Lag == nil {
		sum.Lag = a.Lag
	}
	return sum
}

// Beside is the same time of two shards as one interval, without what Summarize sets. InFlightMax is an
// upper bound: the two maxima need not be of the same instant. The shards' consumers read the same
// topic, so their backlog is the higher one. takt.Interval{Warmup: true} is a shard that changes nothing.
func Beside(a, b takt.Interval) takt.Interval {
	sum := both(a, b)
	sum.InFlightMax = a.InFlightMax + b.InFlightMax
	if sum.Lag = a.Lag; a.Lag == nil || b.Lag != nil && *a.Lag < *b.Lag {
		sum.Lag = b.Lag
	}
	return sum
}

// both has the sums of two intervals. There is no histogram of the schedule lag in an interval, so its
// p99 is the higher one, an upper bound.
func both(a, b takt.Interval) takt.Interval {
	return takt.Interval{
		T:              max(a.T, b.T),
		Warmup:         a.Warmup && b.Warmup,
		Scheduled:      a.Scheduled + b.Scheduled,
		OK:             a.OK + b.OK,
		Failed:         a.Failed + b.Failed,
		Dropped:        a.Dropped + b.Dropped,
		Errors:         takt.PlusErrors(takt.PlusErrors(nil, a.Errors), b.Errors), // others may still hold a
		Bytes:          a.Bytes.Plus(b.Bytes),
		Good:           PlusGood(a.Good, b.Good),
		ScheduleLagP99: max(a.ScheduleLagP99, b.ScheduleLagP99),
	}
}

// PlusGood is the sum of operations that met their conditions; nil: unknown.
func PlusGood(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a + *b
	return &sum
}

// Sums are the sums of the histograms of intervals.
type Sums struct {
	Response, Service *hist.Histogram
	Timed             map[string]*hist.Histogram // takt.Interval.Latency

	decoder hist.Decoder
}

// NewSums returns empty sums.
func NewSums() *Sums {
	return &Sums{Response: hist.New(), Service: hist.New(), Timed: map[string]*hist.Histogram{}}
}

// Reset empties s.
func (s *Sums) Reset() {
	s.Response.Reset()
	s.Service.Reset()
	for name, h := range s.Timed {
		if h.Count() == 0 { // a member of a fleet may send other names each second
			delete(s.Timed, name)
		}
		h.Reset()
	}
}

// Of is the histogram of one of Timed.
func (s *Sums) Of(name string) *hist.Histogram {
	if s.Timed[name] == nil {
		s.Timed[name] = hist.New()
	}
	return s.Timed[name]
}

// Add adds the histograms of an interval.
func (s *Sums) Add(iv *takt.Interval) error {
	err := s.decoder.Merge(s.Response, iv.HDR)
	if err == nil {
		err = s.decoder.Merge(s.Service, iv.ServiceHDR)
	}
	for _, name := range Names(iv) {
		if s.Timed[name] == nil && len(s.Timed) >= MaxTimed {
			continue
		}
		if err == nil {
			err = s.decoder.Merge(s.Of(name), iv.Latency[name].HDR)
		}
	}
	return err
}

// MaxTimed limits the latencies of an interval that somebody else may have written.
const MaxTimed = 16

// Names are those of the latencies of an interval, at most MaxTimed.
func Names(iv *takt.Interval) []string {
	names := slices.Sorted(maps.Keys(iv.Latency))
	return names[:min(len(names), MaxTimed)]
}

// Summarize sets what comes from the histograms of an interval.
func (s *Sums) Summarize(iv *takt.Interval, e *hist.Encoder) {
	iv.ResponseP50 = hist.Micros(s.Response.Quantile(0.5))
	iv.ResponseP99 = hist.Micros(s.Response.Quantile(0.99))
	iv.ResponseMax = hist.Micros(s.Response.Max())
	iv.HDR = e.Encode(s.Response)
	iv.ServiceHDR = e.Encode(s.Service)
	iv.Latency = nil
	for name, h := range s.Timed {
		if h.Count() == 0 {
			continue
		}
		if iv.Latency == nil {
			iv.Latency = map[string]takt.Course{}
		}
		iv.Latency[name] = takt.Course{P50: hist.Micros(h.Quantile(0.5)), P99: hist.Micros(h.Quantile(0.99)), Max: hist.Micros(h.Max()), HDR: e.Encode(h)}
	}
}

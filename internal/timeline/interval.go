package timeline

import (
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
		ScheduleLagP99: max(a.ScheduleLagP99, b.ScheduleLagP99),
	}
}

// Summarize sets what comes from the histograms of an interval.
func Summarize(iv *takt.Interval, response, service *hist.Histogram, e *hist.Encoder) {
	iv.ResponseP50 = hist.Micros(response.Quantile(0.5))
	iv.ResponseP99 = hist.Micros(response.Quantile(0.99))
	iv.ResponseMax = hist.Micros(response.Max())
	iv.HDR = e.Encode(response)
	iv.ServiceHDR = e.Encode(service)
}

package remotewrite

import (
	"math"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/post"
)

// The messages are those of version 1.0 of the protocol, with the histograms that Prometheus added
// in 2.40. The numbers are those of its fields.

// series is a time series with its value at one instant.
type series struct {
	labels    []metrics.Label // sorted by name
	value     float64
	histogram *histogram // instead of value
}

type histogram struct {
	post.Exponential
	count uint64
	sum   float64
}

// request encodes a WriteRequest with all series at an instant, in milliseconds.
func request(list []series, at int64) post.Message {
	var m post.Message
	for _, s := range list {
		m.Nested(1, func(m *post.Message) { s.encode(m, at) })
	}
	return m
}

func (s *series) encode(m *post.Message, at int64) {
	for _, l := range s.labels {
		m.Nested(1, func(m *post.Message) {
			m.Text(1, l.Name)
			m.Text(2, l.Value)
		})
	}
	if s.histogram != nil {
		m.Nested(4, func(m *post.Message) { s.histogram.encode(m, at) })
		return
	}
	m.Nested(2, func(m *post.Message) {
		m.Double(1, s.value)
		m.Varint(2, uint64(at))
	})
}

func (h *histogram) encode(m *post.Message, at int64) {
	m.Varint(1, h.count)
	m.Double(3, h.sum)
	m.Zigzag(4, post.Scale)
	m.Varint(6, 0) // of zeros: it says that the counts are integers
	spans, deltas := h.spans()
	for _, s := range spans {
		m.Nested(11, func(m *post.Message) {
			m.Zigzag(1, int64(s.offset))
			m.Varint(2, uint64(s.length))
		})
	}
	if len(deltas) > 0 {
		m.Zigzags(12, deltas)
	}
	m.Varint(15, uint64(at))
}

// span is a row of buckets. The offset is from the end of the row before, and that of the first row is
// the index of its first bucket.
type span struct{ offset, length int }

// longestGap is the number of empty buckets that cost less than a new span.
const longestGap = 2

// spans returns the buckets in use, with the difference of each count from that before.
func (h *histogram) spans() (list []span, deltas []int64) {
	end, last := 0, uint64(0) // of the last row
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		// Prometheus names a bucket by its upper bound, OpenTelemetry by its lower one.
		at := h.First + i + 1
		switch gap := at - end; {
		case len(list) == 0 || gap > longestGap:
			list = append(list, span{offset: gap})
		case gap > 0:
			for range gap {
				deltas, last = append(deltas, -int64(last)), 0
			}
			list[len(list)-1].length += gap
		}
		list[len(list)-1].length++
		deltas, last, end = append(deltas, int64(n)-int64(last)), n, at+1
	}
	return list, deltas
}

// stale is the value that ends a series: Prometheus shows nothing after it.
var stale = math.Float64frombits(0x7ff0000000000002)

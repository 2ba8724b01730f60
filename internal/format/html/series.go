package html

import (
	"fmt"
	"math"
	"slices"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// statistics are the quantiles that can be shown over time.
var statistics = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

// usual is the statistic that is shown first. Each connection has one slow answer in a stall, so p99 of
// the service time often has the stall, and p90 seldom: the gap to the response time is the wait.
const usual = "p90"

// series are the intervals of a run with what their histograms say.
type series struct {
	list   []second
	end    float64 // of the last interval, in seconds
	warmup float64 // end of the warm-up
	heat   heat

	outages []takt.Outage
	faults  []takt.Fault
}

// second is an interval.
type second struct {
	takt.Interval
	from              float64
	response, service []float64 // by statistic, µs; nil: none ended
}

func (s *second) length() float64 { return max(1e-9, s.T-s.from) }

// seriesOf reads the histograms of all intervals, each once.
func seriesOf(r *takt.Report) (*series, error) {
	s := &series{outages: r.Outages, faults: r.Faults}
	if len(r.Intervals) == 0 {
		return s, nil
	}
	s.end = r.Intervals[len(r.Intervals)-1].T
	var d hist.Decoder
	h := hist.New()
	read := func(text string) error {
		h.Reset()
		return d.Merge(h, text)
	}
	s.heat = newHeat(r)
	from := 0.0
	for _, iv := range r.Intervals {
		one := second{Interval: iv, from: from}
		if err := read(iv.HDR); err != nil {
			return nil, fmt.Errorf("the interval that ends at %v s: %w", iv.T, err)
		}
		one.response = quantiles(h)
		s.heat.add(iv.T, h)
		if err := read(iv.ServiceHDR); err != nil {
			return nil, fmt.Errorf("the service time of the interval that ends at %v s: %w", iv.T, err)
		}
		one.service = quantiles(h)
		one.HDR, one.ServiceHDR = "", ""
		if iv.Warmup {
			s.warmup = iv.T
		}
		s.list, from = append(s.list, one), iv.T
	}
	return s, nil
}

func quantiles(h *hist.Histogram) (list []float64) {
	if h.Count() == 0 {
		return nil
	}
	for _, s := range statistics {
		list = append(list, hist.Micros(h.Quantile(s.q)))
	}
	return list
}

// x is an instant of the run as a part of its length.
func (s *series) x(t float64) float64 { return t / max(1e-9, s.end) }

// tinyPart is the length of the last interval, as a part of the first, below which no curve shows it:
// it would be a line across the chart.
const tinyPart = 0.2

// points are the plateaus of a value of each interval; ok is false where an interval has no value.
func (s *series) points(of func(*second) (y float64, ok bool)) (list []point) {
	for i := range s.list {
		one := &s.list[i]
		y, ok := of(one)
		tiny := i > 0 && one.length() < tinyPart*s.list[0].length()
		list = append(list, point{from: s.x(one.from), to: s.x(one.T), y: y, gap: !ok || tiny})
	}
	return list
}

// many is the number of intervals from which a chart has fewer digits.
const many = 300

// drawing is an empty chart over time. An interval is a whole number of units wide, so that its
// width has one digit.
func (s *series) drawing(height float64) *drawing {
	d := newDrawing(height)
	if n := float64(len(s.list)); n > 0 {
		d.width = math.Ceil(usualWidth/n) * n
	}
	d.whole = len(s.list) > many
	return d
}

// highest is the largest value of the intervals.
func (s *series) highest(of func(*second) float64) (v float64) {
	for i := range s.list {
		v = max(v, of(&s.list[i]))
	}
	return v
}

// hasService reports whether service time was measured.
func (s *series) hasService() bool {
	return slices.ContainsFunc(s.list, func(one second) bool { return one.service != nil })
}

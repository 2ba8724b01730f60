package merge

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Joiner merges intervals of the same second with the same buffers. The zero value is ready. It is not
// safe for concurrent use.
type Joiner struct {
	encoder hist.Encoder
	sums    *timeline.Sums
}

// Join is the interval of the whole run from those of its shards for the same second, as it is in the
// merged report. Counts, errors by class, histograms and the percentiles of the response time are exact.
// InFlightMax is the sum of the shards' highest, an upper bound, because they need not be of the same
// instant. ScheduleLagP99 is the worst of the shards', also an upper bound: an interval has no histogram
// of lag. T is the last of the ends. The whole is in warm-up only while all shards are.
func (j *Joiner) Join(list []takt.Interval) (takt.Interval, error) {
	if len(list) == 0 {
		return takt.Interval{}, nil
	}
	if j.sums == nil {
		j.sums = timeline.NewSums()
	}
	j.sums.Reset()
	sum := takt.Interval{Warmup: true}
	for i := range list {
		iv := &list[i]
		sum = timeline.Beside(sum, *iv)
		if err := j.sums.Add(iv); err != nil {
			return takt.Interval{}, fmt.Errorf("interval %d of %d, which ends at %v s: %w", i+1, len(list), iv.T, err)
		}
	}
	j.sums.Summarize(&sum, &j.encoder)
	return sum, nil
}

// Intervals is Join with buffers of its own.
func Intervals(list []takt.Interval) (takt.Interval, error) { return new(Joiner).Join(list) }

// slot is an interval of the whole run under construction.
type slot struct {
	takt.Interval
	response, service hist.Sparse
	timed             map[string]*hist.Sparse // takt.Interval.Latency
}

// merge adds the histograms of an interval.
func (s *slot) merge(d *hist.Decoder, iv *takt.Interval) error {
	err := s.response.Merge(d, iv.HDR)
	if err == nil {
		err = s.service.Merge(d, iv.ServiceHDR)
	}
	for _, name := range timeline.Names(iv) {
		if s.timed == nil {
			s.timed = map[string]*hist.Sparse{}
		}
		if s.timed[name] == nil && len(s.timed) >= timeline.MaxTimed {
			continue
		}
		if s.timed[name] == nil {
			s.timed[name] = new(hist.Sparse)
		}
		if err == nil {
			err = s.timed[name].Merge(d, iv.Latency[name].HDR)
		}
	}
	return err
}

// addTo adds all values to sums.
func (s *slot) addTo(sums *timeline.Sums) error {
	err := s.response.AddTo(sums.Response)
	if err == nil {
		err = s.service.AddTo(sums.Service)
	}
	for name, h := range s.timed {
		if err == nil {
			err = h.AddTo(sums.Of(name))
		}
	}
	return err
}

// latest is the highest number of an interval. A report has at most takt.MaxIntervals, but the clock goes
// on while a host is suspended, so a time may be later than the number of intervals says.
const latest = 16 * takt.MaxIntervals

// grid sums up intervals of one length by their time since the start of their shard.
type grid struct {
	span  float64 // seconds
	slots map[int]*slot
	peaks []map[int]int // sums of the shards' highest in flight, if intervals last span, 2 span, 4 span, …
}

func newGrid(span float64) *grid {
	g := &grid{span: span, slots: map[int]*slot{}}
	for length := 1; length < latest; length *= 2 {
		g.peaks = append(g.peaks, map[int]int{})
	}
	return g
}

// overdue is how much longer than the others the last interval may be, as a part of their length.
const overdue = 0.05

// End is the end of an interval as it counts in the whole: that of the full second, if the shard ended a
// little later. Its last operations would otherwise be alone in a second that other shards do not have.
// Before is the end of the interval before. All in seconds, span is the length of an interval.
func End(before, t, span float64) float64 {
	if full := math.Floor(t/span) * span; t-before > span/2 && t-full < overdue*span && full > before {
		return full
	}
	return t
}

// number of the interval that ends t seconds after the start: one that ends at 2·span is the second.
func (g *grid) number(t float64) int { return max(0, int(math.Ceil(t/g.span))-1) }

// add adds the intervals of one shard, up to the first fault. In-flight maxima of several shards are added.
// Of intervals of one shard that become one, the highest maximum counts.
func (g *grid) add(d *hist.Decoder, list []takt.Interval) error {
	if len(list) > takt.MaxIntervals {
		return fmt.Errorf("it has %d intervals, and no report has more than %d", len(list), takt.MaxIntervals)
	}
	before := 0.0
	for i := 0; i < len(list); {
		number, part := g.number(End(before, list[i].T, g.span)), takt.Interval{Warmup: true}
		sum := g.slot(number)
		for ; i < len(list); i++ {
			one := list[i]
			if !(one.T >= before && one.T <= latest*g.span) {
				return fmt.Errorf("an interval ends at %v s, after one at %v s; use the report that takt wrote", one.T, before)
			}
			if one.T = End(before, one.T, g.span); g.number(one.T) != number {
				break
			}
			if err := sum.merge(d, &one); err != nil {
				return fmt.Errorf("the interval that ends at %v s: %w", list[i].T, err)
			}
			part, before = timeline.Then(part, one), list[i].T
		}
		sum.Interval = timeline.Beside(sum.Interval, part)
	}
	for level := range g.peaks {
		g.addPeaks(level, list)
	}
	return nil
}

func (g *grid) slot(i int) *slot {
	if g.slots[i] == nil {
		g.slots[i] = &slot{Interval: takt.Interval{Warmup: true}}
	}
	return g.slots[i]
}

// addPeaks adds the highest in flight of one shard in each interval of the length 2^level span.
func (g *grid) addPeaks(level int, list []takt.Interval) {
	before := 0.0
	at := func(i int) int { return g.number(End(before, list[i].T, g.span)) >> level }
	for i := 0; i < len(list); {
		number, peak := at(i), 0
		for ; i < len(list) && at(i) == number; i++ {
			peak, before = max(peak, list[i].InFlightMax), list[i].T
		}
		g.peaks[level][number] += peak
	}
}

// intervals are those of the whole, of span seconds each: 2^level times as long as those of each grid.
func (f *Fold) intervals(span float64) ([]takt.Interval, error) {
	parts := map[int]*part{}
	peaks := map[int]int{}
	for _, length := range slices.Sorted(maps.Keys(f.grids)) {
		g := f.grids[length]
		level := doubled(length, span)
		for i, one := range g.coarser(level) {
			if parts[i] == nil {
				parts[i] = &part{Interval: takt.Interval{Warmup: true}}
			}
			parts[i].Interval = timeline.Beside(parts[i].Interval, one.Interval)
			parts[i].slots = append(parts[i].slots, one.slots...)
		}
		for i, n := range g.peaks[level] {
			peaks[i] += n
		}
	}
	return finish(parts, peaks)
}

// part is an interval of the whole, whose histograms are in slots.
type part struct {
	takt.Interval
	slots []*slot
}

// coarser is the intervals of a grid with 2^level neighbours as one.
func (g *grid) coarser(level int) map[int]*part {
	parts := map[int]*part{}
	for _, i := range slices.Sorted(maps.Keys(g.slots)) {
		p := parts[i>>level]
		if p == nil {
			p = &part{Interval: takt.Interval{Warmup: true}}
			parts[i>>level] = p
		}
		p.Interval, p.slots = timeline.Then(p.Interval, g.slots[i].Interval), append(p.slots, g.slots[i])
	}
	return parts
}

// finish merges the histograms of each interval.
func finish(parts map[int]*part, peaks map[int]int) ([]takt.Interval, error) {
	var encoder hist.Encoder
	sums := timeline.NewSums()
	list := []takt.Interval{}
	for _, i := range slices.Sorted(maps.Keys(parts)) {
		sums.Reset()
		for _, s := range parts[i].slots {
			if err := s.addTo(sums); err != nil {
				return nil, fmt.Errorf("the interval that ends at %v s: %w", s.T, err)
			}
		}
		sum := parts[i].Interval
		sum.InFlightMax = peaks[i]
		sums.Summarize(&sum, &encoder)
		list = append(list, sum)
	}
	return list, nil
}

// doubled is how often part must be doubled to be whole. Both are lengths for which doubles is true.
func doubled(part, whole float64) int { return int(math.Log2(whole / part)) }

// doubles reports whether intervals of takt can have this length in seconds: takt begins with 1 s, and doubles
// it when a run goes on for long.
func doubles(length float64) bool {
	part, _ := math.Frexp(length)
	return part == 0.5 && length >= 1 && length < latest
}

// longest is the length of the intervals of the whole.
func longest(list []shard) (span float64) {
	for _, s := range list {
		if s.IntervalS > span && doubles(s.IntervalS) {
			span = s.IntervalS
		}
	}
	return span
}

// Coarser returns the intervals of one run, merged to a length of span seconds: a multiple of their
// length.
func Coarser(list []takt.Interval, span float64) ([]takt.Interval, error) {
	g := newGrid(span)
	if err := g.add(new(hist.Decoder), list); err != nil {
		return nil, err
	}
	return finish(g.coarser(0), g.peaks[0])
}

package merge

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// merged contains what comes from the histograms of all shards.
type merged struct {
	histograms map[string]*hist.Histogram // by the name of the latency
	intervals  []takt.Interval
	span       float64 // length of an interval, seconds
}

func (m *merged) latency() map[string]takt.Latency {
	all := map[string]takt.Latency{}
	for name, h := range m.histograms {
		all[name] = h.Summary()
	}
	return all
}

// mergeHistograms fails with every histogram that cannot be merged exactly.
func mergeHistograms(list []shard) (*merged, error) {
	m := &merged{histograms: map[string]*hist.Histogram{}}
	var faults []string
	for _, s := range list {
		for _, name := range slices.Sorted(maps.Keys(s.Latency)) {
			if err := m.add(name, s.Latency[name]); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %s time: %v", s.name(), strings.ReplaceAll(name, "_", " "), err))
			}
		}
	}
	faults = append(faults, m.mergeIntervals(list)...)
	if len(faults) > 0 {
		return nil, &UnmergeableError{faults}
	}
	return m, nil
}

// add merges one latency of one shard. The latency's count shows whether the histogram is complete: it
// may be missing from the report, or have values beyond the range of takt's histograms.
func (m *merged) add(name string, l takt.Latency) error {
	if m.histograms[name] == nil {
		m.histograms[name] = hist.New()
	}
	h := m.histograms[name]
	before := h.Count()
	if err := h.MergeEncoded(l.HDR); err != nil {
		return err
	}
	if n := h.Count() - before; n != l.Count {
		return fmt.Errorf("the histogram contains %d of %d values; use the report that takt wrote", n, l.Count)
	}
	return nil
}

// slot is an interval of the whole run under construction.
type slot struct {
	takt.Interval
	response, service []string // histograms, encoded
}

// mergeIntervals aligns the intervals by their time since the start of their shard. The intervals of
// long runs last 2 s, 4 s and so on, so the longest of all shards applies.
func (m *merged) mergeIntervals(list []shard) (faults []string) {
	for _, s := range list {
		m.span = max(m.span, s.IntervalS)
	}
	slots := map[int]*slot{}
	for _, s := range list {
		if !divides(s.IntervalS, m.span) && len(s.Intervals) > 0 {
			faults = append(faults, fmt.Sprintf("%s has intervals of %v s, which do not fit into the %v s of another shard", s.name(), s.IntervalS, m.span))
			continue
		}
		addIntervals(slots, s.Intervals, m.span)
	}
	if len(faults) > 0 {
		return faults
	}
	m.intervals, faults = finishAll(slots)
	return faults
}

// Coarser returns the intervals of one run, merged to a length of span seconds: a multiple of their
// length.
func Coarser(list []takt.Interval, span float64) ([]takt.Interval, error) {
	slots := map[int]*slot{}
	addIntervals(slots, list, span)
	merged, faults := finishAll(slots)
	if len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return merged, nil
}

func finishAll(slots map[int]*slot) (list []takt.Interval, faults []string) {
	var encoder hist.Encoder
	scratch := hist.New()
	list = []takt.Interval{}
	for _, i := range slices.Sorted(maps.Keys(slots)) {
		if err := slots[i].finish(scratch, &encoder); err != nil {
			faults = append(faults, fmt.Sprintf("the interval that ends at %v s: %v", slots[i].T, err))
		}
		list = append(list, slots[i].Interval)
	}
	return list, faults
}

// divides reports whether whole is an integer multiple of part.
func divides(part, whole float64) bool {
	return part > 0 && math.Mod(whole, part) == 0
}

// addIntervals adds the intervals of one shard. In-flight maxima of several shards are added. Of
// intervals of one shard that become one, the highest maximum counts.
func addIntervals(slots map[int]*slot, list []takt.Interval, span float64) {
	peaks := map[int]int{}
	for _, iv := range list {
		i := max(0, int(math.Ceil(iv.T/span))-1) // an interval that ends at 2·span is the second
		sum := slots[i]
		if sum == nil {
			sum = &slot{Interval: takt.Interval{Warmup: true}}
			slots[i] = sum
		}
		sum.T = max(sum.T, iv.T)
		sum.Warmup = sum.Warmup && iv.Warmup
		sum.Scheduled += iv.Scheduled
		sum.OK += iv.OK
		sum.Failed += iv.Failed
		sum.Dropped += iv.Dropped
		sum.Errors = takt.PlusErrors(sum.Errors, iv.Errors)
		// Lag has no histogram per interval, so the worst p99 is the honest figure.
		sum.ScheduleLagP99 = max(sum.ScheduleLagP99, iv.ScheduleLagP99)
		sum.response, sum.service = append(sum.response, iv.HDR), append(sum.service, iv.ServiceHDR)
		peaks[i] = max(peaks[i], iv.InFlightMax)
	}
	for i, peak := range peaks {
		slots[i].InFlightMax += peak
	}
}

// finish merges the histograms of the slot and sets its percentiles.
func (s *slot) finish(scratch *hist.Histogram, e *hist.Encoder) error {
	if err := mergeAll(scratch, s.service); err != nil {
		return err
	}
	s.ServiceHDR = e.Encode(scratch)
	if err := mergeAll(scratch, s.response); err != nil {
		return err
	}
	s.HDR = e.Encode(scratch)
	s.ResponseP50 = hist.Micros(scratch.Quantile(0.5))
	s.ResponseP99 = hist.Micros(scratch.Quantile(0.99))
	s.ResponseMax = hist.Micros(scratch.Max())
	return nil
}

func mergeAll(scratch *hist.Histogram, encoded []string) error {
	scratch.Reset()
	for _, s := range encoded {
		if err := scratch.MergeEncoded(s); err != nil {
			return err
		}
	}
	return nil
}

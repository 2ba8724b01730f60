package record

import (
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

const mergesPerAdd = 12

// history keeps the intervals of a run of any length. When it is full, neighbours are merged,
// so an entry lasts twice as long. Each second merges a few pairs: merging all at once would
// take about a second, which no interval can spare.
type history struct {
	merged []takt.Interval // span seconds each
	old    []takt.Interval // half of span each, waiting to be merged
	open   takt.Interval   // unfinished entry
	held   int             // seconds in open
	span   int             // 0 means 1

	encoder hist.Encoder   // shared with Swap
	sums    *timeline.Sums // nil until something is merged
}

func (h *history) add(iv takt.Interval) {
	h.grow(iv, 1)
	switch {
	case len(h.old) > 0 && h.held >= h.span/2:
		h.old = append(h.old, h.open)
		h.held = 0
	case len(h.old) == 0 && h.held >= h.span:
		h.merged = append(h.merged, h.open)
		h.held = 0
	}
	if len(h.merged) >= takt.MaxIntervals-1 {
		h.old, h.merged = h.merged, nil
		h.span = 2 * max(1, h.span)
	}
	h.mergeOld(mergesPerAdd)
}

func (h *history) grow(iv takt.Interval, seconds int) {
	if h.held == 0 {
		h.open = iv
	} else {
		h.open = h.mergeIntervals(h.open, iv)
	}
	h.held += seconds
}

// mergeOld merges up to n pairs. A last entry without a neighbour starts the open entry.
func (h *history) mergeOld(n int) {
	for ; n > 0 && len(h.old) > 1; n-- {
		h.merged = append(h.merged, h.mergeIntervals(h.old[0], h.old[1]))
		h.old = h.old[2:]
	}
	if len(h.old) == 1 && n > 0 {
		open, held := h.open, h.held
		h.held = 0
		h.grow(h.old[0], h.span/2)
		if held > 0 {
			h.grow(open, held)
		}
		h.old = nil
	}
}

// all returns the intervals and the length of a full interval in seconds.
func (h *history) all() ([]takt.Interval, int) {
	h.mergeOld(takt.MaxIntervals)
	list := h.merged
	if h.held > 0 {
		list = append(list, h.open)
	}
	return list, max(1, h.span)
}

// mergeIntervals merges two neighbours into one interval.
func (h *history) mergeIntervals(a, b takt.Interval) takt.Interval {
	if h.sums == nil {
		h.sums = timeline.NewSums()
	}
	h.sums.Reset()
	_ = h.sums.Add(&a) // takt's own encoding: cannot fail
	_ = h.sums.Add(&b)
	iv := timeline.Then(a, b)
	h.sums.Summarize(&iv, &h.encoder)
	return iv
}

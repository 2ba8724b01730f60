package kafka

import (
	"slices"
	"sort"
)

// ledger counts what arrived by the numbers that the sender gave it.
type ledger struct {
	streams              map[streamKey]*numbers
	received             uint64 // different ones, with a stamp
	duplicate, reordered uint64
	foreign              uint64 // without a stamp of the run, or any if every run counts
	gone                 uint64 // missing, and no longer looked for
	fromStart            bool   // every stream begins with 0: what comes before the first is missing too
}

// streamKey is where numbers run without a gap.
type streamKey struct {
	run       runID
	stream    uint16
	partition int32
}

// The bounds of what a ledger keeps.
const (
	maxStreams = 1 << 16 // records of further ones count as foreign
	maxGaps    = 1 << 12 // of one stream; the oldest is given up then
)

func newLedger(fromStart bool) *ledger {
	return &ledger{streams: map[streamKey]*numbers{}, fromStart: fromStart}
}

// numbers are those of one stream that have arrived: all below next but the gaps.
type numbers struct {
	next uint64
	gaps []gap // in rising order
}

// gap is a stretch of missing numbers, without to.
type gap struct{ from, to uint64 }

// note counts the record with that stamp.
func (l *ledger) note(s *stamp, partition int32) {
	key := streamKey{s.run, s.stream, partition}
	n := l.streams[key]
	if n == nil {
		if len(l.streams) >= maxStreams {
			l.foreign++
			return
		}
		n = &numbers{}
		if !l.fromStart {
			n.next = s.number
		}
		l.streams[key] = n
	}
	switch {
	case s.number >= n.next:
		if s.number > n.next {
			l.open(n, gap{n.next, s.number})
		}
		n.next = s.number + 1
		l.received++
	case n.fill(s.number):
		l.received++
		l.reordered++
	default:
		l.duplicate++
	}
}

func (l *ledger) open(n *numbers, g gap) {
	n.gaps = append(n.gaps, g)
	if len(n.gaps) > maxGaps {
		l.gone += n.gaps[0].to - n.gaps[0].from
		n.gaps = slices.Delete(n.gaps, 0, 1)
	}
}

// gapAt is the place of the first gap that ends above number.
func (n *numbers) gapAt(number uint64) int {
	return sort.Search(len(n.gaps), func(i int) bool { return n.gaps[i].to > number })
}

// missing reports whether number has not arrived.
func (n *numbers) missing(number uint64) bool {
	i := n.gapAt(number)
	return number >= n.next || i < len(n.gaps) && n.gaps[i].from <= number
}

// fill takes number out of its gap; false if it was in none.
func (n *numbers) fill(number uint64) bool {
	i := n.gapAt(number)
	if i == len(n.gaps) || n.gaps[i].from > number {
		return false
	}
	g := n.gaps[i]
	var rest []gap
	if g.from < number {
		rest = append(rest, gap{g.from, number})
	}
	if number+1 < g.to {
		rest = append(rest, gap{number + 1, g.to})
	}
	n.gaps = slices.Replace(n.gaps, i, i+1, rest...)
	return true
}

// lost is how many numbers below the highest of their stream have not arrived.
func (l *ledger) lost() uint64 {
	lost := l.gone
	for _, n := range l.streams {
		for _, g := range n.gaps {
			lost += g.to - g.from
		}
	}
	return lost
}

// describe puts the counts into a report's extra.
func (l *ledger) describe(extra map[string]any) {
	extra["lost"], extra["duplicate"], extra["reordered"], extra["foreign"] = l.lost(), l.duplicate, l.reordered, l.foreign
}

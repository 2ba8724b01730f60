// Package ledger counts messages that their sender numbered: which are lost, came
// twice, or out of order.
package ledger

import (
	"slices"
	"sort"
)

// Ledger counts what arrived by the numbers that the sender gave it. K names a stream,
// in which numbers run from 0 on without a gap. It is not safe for concurrent use.
type Ledger[K comparable] struct {
	Received             uint64 // different ones
	Duplicate, Reordered uint64
	Foreign              uint64 // without a number; the caller counts them

	streams   map[K]*numbers
	lastKey   K // of last: messages of a stream come one after the other
	last      *numbers
	gone      uint64 // missing, and no longer looked for
	fromStart bool
}

// MaxStreams bounds a ledger; messages of further ones count as foreign.
const MaxStreams = 1 << 16

// maxGaps bounds those of one stream; the oldest is given up then.
const maxGaps = 1 << 12

// New makes an empty ledger. fromStart: all streams are followed from 0 on, so what
// comes before the first number is missing too.
func New[K comparable](fromStart bool) *Ledger[K] {
	return &Ledger[K]{streams: map[K]*numbers{}, fromStart: fromStart}
}

// numbers are those of one stream that have arrived: all below next but the gaps.
type numbers struct {
	next   uint64
	joined uint64 // what is below it was sent before anybody listened, perhaps
	gaps   []gap  // in rising order
}

// lost is how much of a gap is missing.
func (n *numbers) lost(g gap) uint64 {
	if g.to <= n.joined {
		return 0
	}
	return g.to - g.from
}

// gap is a stretch of missing numbers, without to.
type gap struct{ from, to uint64 }

// Note counts a message.
func (l *Ledger[K]) Note(stream K, number uint64) {
	n := l.last
	if n == nil || stream != l.lastKey {
		if n = l.find(stream, number); n == nil {
			l.Foreign++
			return
		}
		l.lastKey, l.last = stream, n
	}
	switch {
	case number >= n.next:
		if number > n.next {
			l.open(n, gap{n.next, number})
		}
		n.next = number + 1
		l.Received++
	case n.fill(number):
		l.Received++
		l.Reordered++
	default:
		l.Duplicate++
	}
}

// find gives the numbers of a stream, which begins with number if it is new; nil if there
// are too many.
func (l *Ledger[K]) find(stream K, number uint64) *numbers {
	n := l.streams[stream]
	if n != nil || len(l.streams) >= MaxStreams {
		return n
	}
	n = &numbers{}
	if !l.fromStart && number > 0 { // others may come late, and none of them is missing
		n.next, n.joined, n.gaps = number, number, []gap{{0, number}}
	}
	l.streams[stream] = n
	return n
}

// Has reports whether a message has arrived.
func (l *Ledger[K]) Has(stream K, number uint64) bool {
	n := l.streams[stream]
	return n != nil && !n.missing(number)
}

// Missing calls each with the numbers below to that have not arrived, without those that are no
// longer looked for.
func (l *Ledger[K]) Missing(stream K, to uint64, each func(number uint64)) {
	next := uint64(0)
	if n := l.streams[stream]; n != nil {
		for _, g := range n.gaps {
			for number := g.from; number < min(g.to, to); number++ {
				each(number)
			}
		}
		next = n.next
	}
	for ; next < to; next++ {
		each(next)
	}
}

func (l *Ledger[K]) open(n *numbers, g gap) {
	n.gaps = append(n.gaps, g)
	if len(n.gaps) > maxGaps {
		l.gone += n.lost(n.gaps[0])
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

// Lost is how many numbers below the highest of their stream have not arrived.
func (l *Ledger[K]) Lost() uint64 {
	lost := l.gone
	for _, n := range l.streams {
		for _, g := range n.gaps {
			lost += n.lost(g)
		}
	}
	return lost
}

// Describe puts the counts into a report's extra.
func (l *Ledger[K]) Describe(extra map[string]any) {
	extra["lost"], extra["duplicate"], extra["reordered"], extra["foreign"] = l.Lost(), l.Duplicate, l.Reordered, l.Foreign
}

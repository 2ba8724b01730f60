package ledger

import (
	"math/rand/v2"
	"testing"
)

func TestLedger(t *testing.T) {
	for _, c := range []struct {
		name                                 string
		fromStart                            bool
		numbers                              []uint64
		received, duplicate, reordered, lost uint64
	}{
		{"in order", true, []uint64{0, 1, 2}, 3, 0, 0, 0},
		{"joined in the middle", false, []uint64{5, 6}, 2, 0, 0, 0},
		{"joined in the middle, the rest late", false, []uint64{5, 2, 6, 2, 8}, 4, 1, 1, 1},
		{"beginning missed", true, []uint64{2, 3}, 2, 0, 0, 2},
		{"lost", true, []uint64{0, 3, 7}, 3, 0, 0, 5},
		{"twice", true, []uint64{0, 1, 1, 0}, 2, 2, 0, 0},
		{"late", true, []uint64{0, 3, 1, 2}, 4, 0, 2, 0},
		{"late and twice", true, []uint64{0, 4, 2, 2, 1}, 4, 1, 2, 1},
	} {
		l := New[int](c.fromStart)
		for _, n := range c.numbers {
			l.Note(0, n)
		}
		if l.Received != c.received || l.Duplicate != c.duplicate || l.Reordered != c.reordered || l.Lost() != c.lost {
			t.Errorf("%s: received %d, duplicate %d, reordered %d, lost %d", c.name, l.Received, l.Duplicate, l.Reordered, l.Lost())
		}
	}
}

// Streams do not mix, and those beyond the bound are foreign.
func TestStreams(t *testing.T) {
	l := New[int](true)
	for n := range uint64(3) {
		for stream := range 3 {
			l.Note(stream, n)
		}
	}
	if l.Received != 9 || l.Lost() != 0 || l.Reordered != 0 {
		t.Errorf("%+v, %d lost", l, l.Lost())
	}
	for stream := 3; stream <= MaxStreams; stream++ {
		l.Note(stream, 0)
	}
	l.Note(MaxStreams, 1)
	l.Note(MaxStreams-1, 1)
	if l.Foreign != 2 || l.Received != 9+MaxStreams-3+1 {
		t.Errorf("%d foreign, %d received", l.Foreign, l.Received)
	}
}

// Whatever is lost, doubled and shuffled: the counts are those of a plain set.
func TestLedgerLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		l, seen := New[int](true), map[uint64]bool{}
		var highest, duplicate, reordered uint64
		for range random.IntN(60) {
			n := random.Uint64N(40)
			l.Note(3, n)
			switch {
			case seen[n]:
				duplicate++
			case n < highest:
				reordered++
			}
			seen[n] = true
			highest = max(highest, n+1)
		}
		if l.Received != uint64(len(seen)) || l.Duplicate != duplicate || l.Reordered != reordered || l.Lost() != highest-uint64(len(seen)) {
			t.Fatalf("received %d, duplicate %d, reordered %d, lost %d; want %d, %d, %d, %d",
				l.Received, l.Duplicate, l.Reordered, l.Lost(), len(seen), duplicate, reordered, highest-uint64(len(seen)))
		}
		for n := range uint64(45) {
			if l.Has(3, n) != seen[n] {
				t.Fatalf("number %d: has %v, seen %v", n, l.Has(3, n), seen[n])
			}
		}
	}
}

func TestLedgerBounds(t *testing.T) {
	l := New[int](true)
	for n := uint64(1); n <= 2*(maxGaps+10); n += 2 { // every second one is missing
		l.Note(0, n)
	}
	if len(l.streams[0].gaps) != maxGaps || l.Lost() != maxGaps+10 {
		t.Errorf("%d gaps, %d lost", len(l.streams[0].gaps), l.Lost())
	}
	for i := range MaxStreams + 5 {
		l.Note(i+1, 0)
	}
	if len(l.streams) != MaxStreams || l.Foreign != 6 {
		t.Errorf("%d streams, %d foreign", len(l.streams), l.Foreign)
	}
}

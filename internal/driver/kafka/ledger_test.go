package kafka

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestStamp(t *testing.T) {
	want := stamp{run: runID{1, 2, 3}, stream: 7, number: 1 << 40, due: 1_800_000_000_123_456_789, token: 1<<63 + 5}
	b := make([]byte, stampBytes)
	want.put(b)
	got, ok := readStamp(append(b, "rest"...))
	if !ok || got.run != want.run || got.stream != want.stream || got.number != want.number || got.due != want.due || got.token != want.token {
		t.Errorf("%+v %v, want %+v", got, ok, want)
	}
	for _, bad := range [][]byte{nil, b[:stampBytes-1], append([]byte("tkt2"), b[4:]...)} {
		if _, ok := readStamp(bad); ok {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestLedger(t *testing.T) {
	for _, c := range []struct {
		name                                 string
		fromStart                            bool
		numbers                              []uint64
		received, duplicate, reordered, lost uint64
	}{
		{"in order", true, []uint64{0, 1, 2}, 3, 0, 0, 0},
		{"joined in the middle", false, []uint64{5, 6}, 2, 0, 0, 0},
		{"beginning missed", true, []uint64{2, 3}, 2, 0, 0, 2},
		{"lost", true, []uint64{0, 3, 7}, 3, 0, 0, 5},
		{"twice", true, []uint64{0, 1, 1, 0}, 2, 2, 0, 0},
		{"late", true, []uint64{0, 3, 1, 2}, 4, 0, 2, 0},
		{"late and twice", true, []uint64{0, 4, 2, 2, 1}, 4, 1, 2, 1},
	} {
		l := newLedger(c.fromStart)
		for _, n := range c.numbers {
			l.note(&stamp{number: n}, 0)
		}
		if l.received != c.received || l.duplicate != c.duplicate || l.reordered != c.reordered || l.lost() != c.lost {
			t.Errorf("%s: received %d, duplicate %d, reordered %d, lost %d", c.name, l.received, l.duplicate, l.reordered, l.lost())
		}
	}
}

// Whatever is lost, doubled and shuffled: the counts are those of a plain set.
func TestLedgerLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		l, seen := newLedger(true), map[uint64]bool{}
		var highest, duplicate, reordered uint64
		for range random.IntN(60) {
			n := random.Uint64N(40)
			l.note(&stamp{number: n}, 3)
			switch {
			case seen[n]:
				duplicate++
			case n < highest:
				reordered++
			}
			seen[n] = true
			highest = max(highest, n+1)
		}
		if l.received != uint64(len(seen)) || l.duplicate != duplicate || l.reordered != reordered || l.lost() != highest-uint64(len(seen)) {
			t.Fatalf("received %d, duplicate %d, reordered %d, lost %d; want %d, %d, %d, %d",
				l.received, l.duplicate, l.reordered, l.lost(), len(seen), duplicate, reordered, highest-uint64(len(seen)))
		}
		for n := range uint64(45) {
			if s := l.streams[streamKey{partition: 3}]; s != nil && s.missing(n) == seen[n] {
				t.Fatalf("number %d: missing %v, seen %v", n, s.missing(n), seen[n])
			}
		}
	}
}

func TestLedgerBounds(t *testing.T) {
	l := newLedger(true)
	for n := uint64(1); n <= 2*(maxGaps+10); n += 2 { // every second one is missing
		l.note(&stamp{number: n}, 0)
	}
	if len(l.streams[streamKey{}].gaps) != maxGaps || l.lost() != maxGaps+10 {
		t.Errorf("%d gaps, %d lost", len(l.streams[streamKey{}].gaps), l.lost())
	}
	for i := range maxStreams + 5 {
		l.note(&stamp{run: runID{1}, stream: uint16(i)}, int32(i>>16))
	}
	if len(l.streams) != maxStreams || l.foreign != 6 {
		t.Errorf("%d streams, %d foreign", len(l.streams), l.foreign)
	}
}

func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var q queue
	var want []uint64
	for i := range uint64(20_000) {
		if random.IntN(5) < 3 {
			q.push(pending{seq: i})
			want = append(want, i)
		} else if len(want) > 0 {
			if head, got := q.head().seq, q.pop().seq; head != want[0] || got != want[0] {
				t.Fatalf("head %d, popped %d, want %d", head, got, want[0])
			}
			want = slices.Delete(want, 0, 1)
		}
		if q.len() != len(want) {
			t.Fatalf("%d are queued, want %d", q.len(), len(want))
		}
	}
}

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

func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var q ring[pending]
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

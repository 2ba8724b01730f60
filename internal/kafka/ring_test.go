package kafka_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/ring"
)

func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var q ring.Queue[uint64]
	var want []uint64
	for i := range uint64(20_000) {
		if random.IntN(5) < 3 {
			q.Push(i)
			want = append(want, i)
		} else if len(want) > 0 {
			head := *q.Head() // before Pop, which clears it
			if got := q.Pop(); head != want[0] || got != want[0] {
				t.Fatalf("head %d, popped %d, want %d", head, got, want[0])
			}
			want = slices.Delete(want, 0, 1)
		}
		if q.Len() != len(want) {
			t.Fatalf("%d are queued, want %d", q.Len(), len(want))
		}
	}
}

package kafka_test

import (
	"math/rand/v2"
	"testing"

	"github.com/taktload/takt/internal/ring"
)

func TestHeapSorts(t *testing.T) {
	h := ring.NewHeap(func(a, b int) bool { return a < b })
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		h.Push(r.IntN(100))
	}
	for last := 0; h.Len() > 0; {
		x := h.Pop()
		if x < last {
			t.Fatalf("%d after %d", x, last)
		}
		last = x
	}
}

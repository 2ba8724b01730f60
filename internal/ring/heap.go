package ring

// Heap is a binary heap, the least item on top. container/heap would box every
// item: an allocation per request.
type Heap[T any] struct {
	items []T
	less  func(a, b T) bool
}

// NewHeap is an empty heap of items in this order.
func NewHeap[T any](less func(a, b T) bool) Heap[T] { return Heap[T]{less: less} }

// Len is the number of items.
func (h *Heap[T]) Len() int { return len(h.items) }

// Top is the least item; the heap must not be empty.
func (h *Heap[T]) Top() T { return h.items[0] }

// Push adds an item.
func (h *Heap[T]) Push(x T) {
	h.items = append(h.items, x)
	for i := len(h.items) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(h.items[i], h.items[up]) {
			return
		}
		h.items[i], h.items[up] = h.items[up], h.items[i]
		i = up
	}
}

// Pop takes the least item; the heap must not be empty.
func (h *Heap[T]) Pop() T {
	var none T
	top, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.items[last] = none // lets go of what it points to
	h.items = h.items[:last]
	h.sink()
	return top
}

// sink moves the first item down to its place.
func (h *Heap[T]) sink() {
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(h.items) && h.less(h.items[down], h.items[least]) {
				least = down
			}
		}
		if least == i {
			return
		}
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}

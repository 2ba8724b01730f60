package trace

import (
	"container/heap"
	"io"
)

// Merge merges streams in the order of their stamps. At equal stamps the earlier stream
// comes first, so logs without times follow one another. Merge does not sort within a
// stream; Timed does.
func Merge(list ...Stream) Stream {
	if len(list) == 1 {
		return list[0]
	}
	m := &merged{}
	for i, s := range list {
		m.unread = append(m.unread, &head{stream: s, index: i})
	}
	return m
}

// head is a stream and its next record.
type head struct {
	stream Stream
	index  int
	rec    Record
}

// merged reads the next record of a stream only when the last one is no longer in use.
type merged struct {
	heap   heads
	unread []*head // streams without a record: the caller has it, or none was read yet
}

// Next implements Stream.
func (m *merged) Next(rec *Record) error {
	for len(m.unread) > 0 {
		h := m.unread[len(m.unread)-1]
		switch err := h.stream.Next(&h.rec); err {
		case nil:
			heap.Push(&m.heap, h)
		case io.EOF:
		default:
			return err
		}
		m.unread = m.unread[:len(m.unread)-1]
	}
	if len(m.heap) == 0 {
		return io.EOF
	}
	h := heap.Pop(&m.heap).(*head)
	m.unread = append(m.unread, h)
	h.rec.lend(rec)
	return nil
}

// heads is a heap.Interface: the earliest record is next.
type heads []*head

func (h heads) Len() int      { return len(h) }
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*head)) }
func (h heads) Less(i, j int) bool {
	if a, b := h[i].rec.At, h[j].rec.At; !a.Equal(b) {
		return a.Before(b)
	}
	return h[i].index < h[j].index
}

// Pop removes the last element.
func (h *heads) Pop() any {
	list := *h
	last := list[len(list)-1]
	*h = list[:len(list)-1]
	return last
}

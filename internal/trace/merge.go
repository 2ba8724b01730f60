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
	m := &merged{streams: list}
	for i := range list {
		m.unread = append(m.unread, &heldRecord{seq: uint64(i)})
	}
	return m
}

// merged reads the next record of a stream only when the last one is no longer in use. The
// seq of its held records is the index of their stream.
type merged struct {
	streams []Stream
	heap    held
	unread  []*heldRecord // of streams without a record: the caller has it, or none was read yet
}

// Next implements Stream.
func (m *merged) Next(rec *Record) error {
	for len(m.unread) > 0 {
		h := m.unread[len(m.unread)-1]
		switch err := m.streams[h.seq].Next(&h.rec); err {
		case nil:
			h.at = nanos(h.rec.At)
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
	h := heap.Pop(&m.heap).(*heldRecord)
	m.unread = append(m.unread, h)
	h.rec.Lend(rec)
	return nil
}

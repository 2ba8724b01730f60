package trace

import (
	"container/heap"
	"io"
	"math"
	"time"
)

// maxHeld limits the records that order delays until earlier ones have come: about 30 MB.
const maxHeld = 1 << 16

// order sorts a stream within a window of time.
type order struct {
	src    Stream
	key    func(r *Record) time.Time
	window time.Duration
	heap   held
	free   []*heldRecord
	read   Record
	seq    uint64
	newest int64 // the greatest key so far
	given  int64 // the greatest key that Next has returned
	late   Late
	ended  bool
}

// Late counts records that are still out of order: they came later than the window, or
// maxHeld records, allows.
type Late struct {
	Count uint64
	Most  time.Duration // the longest delay
}

// heldRecord is a record with its place in the order.
type heldRecord struct {
	rec Record
	at  int64 // the key in nanoseconds since 1970; noTime: none
	seq uint64
}

// noTime comes before all times.
const noTime = math.MinInt64

// nanos is t in nanoseconds since 1970; noTime if t is zero.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixNano()
}

func newOrder(src Stream, key func(r *Record) time.Time, window time.Duration) *order {
	return &order{src: src, key: key, window: window, newest: noTime, given: noTime}
}

// Next implements Stream. rec gets memory of its own.
func (o *order) Next(rec *Record) error {
	for !o.ready() {
		if err := o.take(); err != nil {
			return err
		}
	}
	if len(o.heap) == 0 {
		return io.EOF
	}
	h := heap.Pop(&o.heap).(*heldRecord)
	if h.at < o.given && h.at != noTime {
		o.late.Count++
		o.late.Most = max(o.late.Most, time.Duration(o.given-h.at))
	}
	o.given = max(o.given, h.at)
	*rec, h.rec = h.rec, *rec
	o.free = append(o.free, h)
	return nil
}

// ready reports whether the first held record can go: no earlier one is expected, or there
// is no memory for more.
func (o *order) ready() bool {
	if o.ended || len(o.heap) >= maxHeld {
		return true
	}
	if len(o.heap) == 0 {
		return false
	}
	first := o.heap[0].at
	return first == noTime || first <= o.newest-int64(o.window)
}

func (o *order) take() error {
	switch err := o.src.Next(&o.read); err {
	case nil:
	case io.EOF:
		o.ended = true
		return nil
	default:
		return err
	}
	h := o.spare()
	o.read.CopyTo(&h.rec)
	h.at, h.seq = nanos(o.key(&h.rec)), o.seq
	o.seq++
	o.newest = max(o.newest, h.at)
	heap.Push(&o.heap, h)
	return nil
}

func (o *order) spare() *heldRecord {
	n := len(o.free)
	if n == 0 {
		return new(heldRecord)
	}
	h := o.free[n-1]
	o.free = o.free[:n-1]
	return h
}

// held is a heap.Interface: the earliest record is first; among equals, the one read first.
type held []*heldRecord

func (h held) Len() int      { return len(h) }
func (h held) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *held) Push(x any)   { *h = append(*h, x.(*heldRecord)) }
func (h held) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}

// Pop removes the last element.
func (h *held) Pop() any {
	list := *h
	last := list[len(list)-1]
	*h = list[:len(list)-1]
	return last
}

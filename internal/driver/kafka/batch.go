package kafka

import (
	"slices"
	"sync/atomic"
	"time"
)

// pending is an operation that fell due and is not written yet.
type pending struct {
	token, seq uint64
	due        time.Duration // since the run's start
}

// record is one operation as a client sends it.
type record struct {
	pending
	partition int32
	stream    uint16
	number    uint64 // in its stream and partition
	key       []byte // nil: none
	value     []byte
	stamp     []byte // of the header; nil: the stamp stands in the value, or nowhere
	err       error  // nil: acknowledged
}

// batch is what one writer writes together. It is used again and again: its
// memory grows to that of the largest one.
type batch struct {
	worker  *worker
	stream  uint16   // of its records, in stamps
	numbers []uint64 // of the next record, by partition
	records []record
	block   []byte // what the records' slices point into
	began   time.Time
	left    atomic.Int32 // records without an answer
	aside   any          // what the client keeps with it
}

// fill renders the records that take has chosen: only whoever writes for the worker
// calls it, so that numbers follow the order of writing.
func (b *batch) fill() {
	w := b.worker
	b.began = time.Now()
	b.left.Store(int32(len(b.records)))
	b.block = slices.Grow(b.block[:0], b.bytes())
	turn := w.turn
	w.turn = (w.turn + 1) % w.partitions
	for i := range b.records {
		r := &b.records[i]
		r.err, r.key, r.stamp, r.partition = nil, nil, nil, turn
		if w.text.key != nil {
			r.key = b.cut(w.text.key.Append(b.block, r.seq))
			r.partition = w.route(r.key)
		}
		r.value = b.cut(w.text.append(b.block, r.seq))
		b.stamp(r)
	}
}

// bytes is the room that the records take.
func (b *batch) bytes() (n int) {
	w := b.worker
	for i := range b.records {
		n += w.text.size(b.records[i].seq)
	}
	each := w.text.keyBytes()
	if !w.inValue {
		each += stampBytes
	}
	return n + len(b.records)*each
}

// cut makes longer the block and returns what it has more.
func (b *batch) cut(longer []byte) []byte {
	from := len(b.block)
	b.block = longer
	return longer[from:len(longer):len(longer)]
}

func (b *batch) stamp(r *record) {
	w := b.worker
	r.stream, r.number = b.stream, b.numbers[r.partition]
	b.numbers[r.partition]++
	if w.plain {
		return
	}
	s := stamp{run: w.run, stream: r.stream, number: r.number, due: w.epoch + int64(r.due), token: r.token}
	if w.inValue {
		s.put(r.value)
		return
	}
	r.stamp = b.cut(b.block[:len(b.block)+stampBytes])
	s.put(r.stamp)
}

// end says what became of record i: err is nil when it is acknowledged. A client
// calls it once for each.
func (b *batch) end(i int, err error) {
	r := &b.records[i]
	r.err = err
	if b.worker.apart {
		b.worker.finishAll(b.records[i : i+1])
	}
	if b.left.Add(-1) == 0 {
		b.worker.ended(b)
	}
}

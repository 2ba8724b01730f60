package kafka

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/kwire"
)

// pending is an operation that fell due and is not written yet.
type pending struct {
	token, seq uint64
	due        time.Duration // since the run's start
}

// record is one operation as it is sent, in 64 bytes: one line of a cache.
type record struct {
	pending
	partition int32
	stream    uint16
	number    uint64 // in its stream and partition
	bytes     int32  // of the message
	err       error  // nil: acknowledged
}

// content is a record as libraries take it.
type content struct {
	key   []byte // nil: none
	value []byte
	stamp []byte // of the header; nil: the stamp stands in the value, or nowhere
}

// batch is what one writer writes together. It is used again and again: its
// memory grows to that of the largest one.
type batch struct {
	worker   *worker
	stream   uint16   // of its records, in stamps
	numbers  []uint64 // of the next record, by partition
	records  []record
	contents []content // the same, for a client that is a library
	keys     []byte    // of the records
	parts    []*part   // what goes to one partition each; the records' values stand in them
	spare    []*part
	byPlace  []*part // the same by partition, where records have keys
	began    time.Time
	left     atomic.Int32 // records without an answer
	aside    any          // what the client keeps with it
}

// part is what of a batch goes to one partition.
type part struct {
	kwire.Batch
	batch    *batch
	turn     uint64    // among all that are written
	deadline time.Time // of its acknowledgement
	err      error     // why it was not acknowledged so far
	answered []record
}

// fill renders the records that take has chosen: only whoever writes for the worker
// calls it, so that numbers follow the order of writing.
func (b *batch) fill() {
	w := b.worker
	b.began = time.Now()
	b.left.Store(int32(len(b.records)))
	for _, p := range b.parts {
		if b.byPlace != nil {
			b.byPlace[p.Partition()] = nil
		}
	}
	b.spare, b.parts, b.contents = append(b.spare, b.parts...), b.parts[:0], b.contents[:0]
	if w.text.key != nil {
		b.fillByKey()
		return
	}
	turn := w.turn
	w.turn = (w.turn + 1) % w.partitions
	p := b.part(turn, b.bytes())
	for i := range b.records {
		b.render(p, &b.records[i], nil)
	}
}

// fillByKey is fill where each record's key says which partition it goes to.
func (b *batch) fillByKey() {
	w := b.worker
	if b.byPlace == nil {
		b.byPlace = make([]*part, w.partitions)
	}
	b.keys = slices.Grow(b.keys[:0], len(b.records)*w.text.keyBytes())
	for i := range b.records {
		r := &b.records[i]
		from := len(b.keys)
		b.keys = w.text.key.Append(b.keys, r.seq)
		key := b.keys[from:len(b.keys):len(b.keys)]
		partition := w.route(key)
		p := b.byPlace[partition]
		if p == nil {
			p = b.part(partition, 0)
			b.byPlace[partition] = p
		}
		b.render(p, r, key)
	}
}

// part is another part of the batch, with room for so many bytes.
func (b *batch) part(partition int32, room int) *part {
	var p *part
	if last := len(b.spare) - 1; last >= 0 {
		p, b.spare = b.spare[last], b.spare[:last]
	} else {
		p = &part{batch: b}
	}
	p.err = nil
	p.Reset(partition, room)
	b.parts = append(b.parts, p)
	return p
}

// bytes is the room that the records take, at most.
func (b *batch) bytes() (n int) {
	w := b.worker
	for i := range b.records {
		n += w.text.size(b.records[i].seq)
	}
	return n + len(b.records)*w.overhead
}

// render writes r, which has that key, into p.
func (b *batch) render(p *part, r *record, key []byte) {
	w := b.worker
	size := w.text.size(r.seq)
	value, tail := p.End(w.text.append(p.Begin(key, size, w.tail), r.seq), w.tail)
	r.partition, r.stream, r.bytes, r.err = p.Partition(), b.stream, int32(size), nil
	r.number = b.numbers[r.partition]
	b.numbers[r.partition]++
	m := content{key: key, value: value}
	if w.stampAt > 0 {
		m.stamp = tail[w.stampAt : w.stampAt+stampBytes]
	}
	if !w.plain {
		s := stamp{run: w.run, stream: r.stream, number: r.number, due: w.epoch + int64(r.due), token: r.token}
		if w.inValue {
			s.put(value)
		} else {
			s.put(m.stamp)
		}
	}
	if w.library {
		b.contents = append(b.contents, m)
	}
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

// end says what became of all records of p, which the batch may use again then.
func (p *part) end(err error) {
	b, n := p.batch, p.Len()
	if !b.worker.apart { // so p is all of the batch
		for i := range b.records {
			b.records[i].err = err
		}
	} else {
		p.answered = p.answered[:0]
		for i := range b.records {
			if r := &b.records[i]; r.partition == p.Partition() {
				r.err = err
				p.answered = append(p.answered, *r)
			}
		}
		b.worker.finishAll(p.answered)
	}
	if b.left.Add(int32(-n)) == 0 {
		b.worker.ended(b)
	}
}

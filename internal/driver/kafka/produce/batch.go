package produce

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/kafka"
	"github.com/twmb/franz-go/pkg/kgo"
)

// pending is an operation that is due and not written yet.
type pending struct {
	token, seq uint64
	due        time.Duration // due instant since the run's start
}

// record is one written operation and its result.
type record struct {
	pending
	partition int32
	stream    uint16
	part      uint16 // place of its part in the batch
	number    uint64 // number in its stream and partition
	bytes     int32  // size of the message
	err       error  // nil: acknowledged
}

// content is a record for a client library.
type content struct {
	key   []byte // nil: no key
	value []byte
	stamp []byte // stamp in the header; nil: in the value, or no stamp

	headers []kgo.RecordHeader // without the stamp; nil: all records have the same
}

// batch is the records that one writer writes together. It is reused, so its memory grows to
// that of the largest batch. One core renders it and another handles the answer, so the data
// for an answer is small: with a record of 64 bytes for each operation of a uniform batch the
// client took 19 % more CPU.
type batch struct {
	worker   *worker
	stamp    cluster.Stamp // stamp of the last record; run and stream are equal in all records
	numbers  *numbers      // numbers of the next records
	ops      []pending
	tokens   []uint64  // tokens of ops: enough for the answer to a uniform batch
	room     int       // largest size in bytes of the records of ops
	full     bool      // another record would not have fitted
	records  []record  // records of ops; empty for a uniform batch, unless it fails
	contents []content // contents of ops, for a client library
	keys     []byte    // keys of the records
	tail     tail      // headers of a record, where they differ
	parts    []*part   // parts, each for a partition; they contain the records' values
	spare    []*part
	byPlace  []*part        // the newest parts by partition, if records have keys
	sealed   []*kafka.Batch // the batches of parts, for kafka.Producer
	began    time.Time
	left     atomic.Int32 // number of records without an answer
	arrived  atomic.Int64 // when the last answer came to this host, in ns since began; 0: unknown
	aside    any          // the client's own data
}

// numbers are the numbers of the next records by partition. Only the goroutine that writes
// uses them.
type numbers []uint64

// grow makes room for this number of partitions.
func (n *numbers) grow(partitions int32) {
	for int32(len(*n)) < partitions {
		*n = append(*n, 0)
	}
}

// part is the records of a batch for one partition.
type part struct {
	kafka.Batch
	batch    *batch
	index    uint16 // place in batch.parts
	first    uint64 // number of the first record, in a uniform batch
	bytes    int    // bytes of the messages, in a uniform batch
	answered []record
}

// fill renders the records that take has chosen. Only the goroutine that writes for the
// worker calls it, so numbers follow the order of writing.
func (b *batch) fill() {
	w := b.worker
	b.began = time.Now()
	b.arrived.Store(0)
	b.left.Store(int32(len(b.ops)))
	for _, p := range b.parts {
		if b.byPlace != nil {
			b.byPlace[p.Partition()] = nil
		}
	}
	b.spare, b.parts = append(b.spare, b.parts...), b.parts[:0]
	b.records, b.contents = b.records[:0], b.contents[:0]
	partitions := w.partitions.Load() // others may add partitions
	b.numbers.grow(partitions)
	if w.text.isKeyed() {
		b.fillByKey(partitions)
		return
	}
	turn := w.turn
	if w.onTurn += b.room; !w.filling || b.full || w.onTurn >= w.batchBytes {
		w.turn, w.onTurn = (w.turn+1)%partitions, 0
	}
	p := b.part(turn, b.room)
	p.first, p.bytes = (*b.numbers)[turn], 0
	for i := range b.ops {
		p.bytes += b.render(p, &b.ops[i], nil)
	}
}

// fillByKey is fill if each record's key determines its partition.
func (b *batch) fillByKey(partitions int32) {
	w := b.worker
	if missing := int(partitions) - len(b.byPlace); missing > 0 {
		b.byPlace = append(b.byPlace, make([]*part, missing)...)
	}
	b.keys = slices.Grow(b.keys[:0], len(b.ops)*w.text.keyBytes())
	for i := range b.ops {
		op := &b.ops[i]
		var key []byte
		var partition int32
		if w.text.recorded != nil {
			one := w.text.recorded.of(op.seq)
			key, partition = one.Key, w.again(one, partitions)
		} else {
			from := len(b.keys)
			b.keys = w.text.key.Append(b.keys, op.seq)
			key = b.keys[from:len(b.keys):len(b.keys)]
			partition = w.route(key, partitions)
		}
		p := b.byPlace[partition]
		if p == nil || w.filling && p.Filled()+w.recordSize(op.seq) > w.batchBytes && len(b.parts) < maxParts {
			p = b.part(partition, 0)
			b.byPlace[partition] = p
		}
		b.render(p, op, key)
	}
}

// maxParts is the largest number of parts in a batch.
const maxParts = math.MaxUint16

// part adds a part to the batch, with room for this many bytes.
func (b *batch) part(partition int32, room int) *part {
	var p *part
	if last := len(b.spare) - 1; last >= 0 {
		p, b.spare = b.spare[last], b.spare[:last]
	} else {
		p = &part{batch: b}
		p.Ended = p.end
	}
	p.Reset(partition, room)
	p.index = uint16(len(b.parts))
	b.parts = append(b.parts, p)
	return p
}

// render writes the record of op with this key into p, and returns the size of its message.
func (b *batch) render(p *part, op *pending, key []byte) (size int) {
	w := b.worker
	size = w.text.size(op.seq)
	headers, stampAt := w.tail, w.stampAt
	switch {
	case w.text.recorded != nil:
		one := w.text.recorded.of(op.seq)
		headers, stampAt = one.Headers, one.StampAt
	case w.text.headers.values != nil:
		headers = b.tail.make(&w.text.headers, w.stampHeader, op.seq)
	}
	value, tail := p.End(w.text.append(p.Begin(key, size, headers), size, op.seq), headers)
	if size == kafka.Null {
		value, size = nil, 0
	}
	number := &(*b.numbers)[p.Partition()]
	m := content{key: key, value: value}
	if stampAt > 0 {
		m.stamp = tail[stampAt : stampAt+cluster.StampBytes]
	}
	if !w.plain {
		s := &b.stamp
		s.Number, s.Due, s.Token = *number, w.epoch+int64(op.due), op.token
		if w.inValue {
			s.Put(value)
		} else {
			s.Put(m.stamp)
		}
	}
	if w.library {
		if w.text.headers.values != nil {
			m.headers = w.text.headers.of(op.seq)
		}
		b.contents = append(b.contents, m)
	}
	if !w.uniform {
		b.keep(p, op, *number, size)
	}
	if w.text.recorded != nil {
		w.text.recorded.done(op.seq)
	}
	*number++
	return size
}

// detail makes the records of a uniform batch.
func (b *batch) detail() {
	p := b.parts[0]
	for i := range b.ops {
		op := &b.ops[i]
		b.keep(p, op, p.first+uint64(i), max(0, b.worker.text.size(op.seq)))
	}
}

// keep adds the record of op, which is in p.
func (b *batch) keep(p *part, op *pending, number uint64, bytes int) {
	b.records = append(b.records, record{pending: *op, partition: p.Partition(), stream: b.stamp.Stream, part: p.index, number: number, bytes: int32(bytes)})
}

// arrive notes the instant at which an answer came to this host.
func (b *batch) arrive(at time.Time) {
	if !at.IsZero() {
		b.arrived.Store(int64(at.Sub(b.began)))
	}
}

// lastArrival is when the last answer came; the zero time: unknown.
func (b *batch) lastArrival() time.Time {
	if at := b.arrived.Load(); at > 0 {
		return b.began.Add(time.Duration(at))
	}
	return time.Time{}
}

// end sets the result of record i: err is nil if it was acknowledged. A client calls it once
// for each record.
func (b *batch) end(i int, err error) {
	r := &b.records[i]
	r.err = err
	if cluster.Unsent(err) {
		b.worker.meter.absent.Add(1)
	}
	if b.worker.apart {
		b.worker.finishAll(b.records[i:i+1], b.lastArrival())
	}
	if b.left.Add(-1) == 0 {
		b.worker.ended(b)
	}
}

// fail ends all records of a batch that was not written.
func (b *batch) fail(err error) {
	if !b.worker.library {
		for _, p := range b.parts {
			p.end(time.Time{}, err)
		}
		return
	}
	b.worker.meter.absent.Add(uint64(len(b.records)))
	for i := range b.records {
		b.end(i, err)
	}
}

// end sets the result of all records of p, whose answer came to this host at arrived, if that
// is known. Then the batch may reuse p.
func (p *part) end(arrived time.Time, err error) {
	b, n := p.batch, p.Len()
	b.arrive(arrived)
	b.worker.outcome(p.Partition(), n, b.began, err)
	b.worker.meter.copied(n, p.Copies(err))
	switch {
	case b.worker.apart:
		p.answered = p.answered[:0]
		for i := range b.records {
			if r := &b.records[i]; r.part == p.index {
				r.err = err
				p.answered = append(p.answered, *r)
			}
		}
		b.worker.finishAll(p.answered, b.lastArrival())
	case err != nil: // p is the whole batch
		if b.worker.uniform {
			b.detail()
		}
		for i := range b.records {
			b.records[i].err = err
		}
	}
	if b.left.Add(int32(-n)) == 0 {
		b.worker.ended(b)
	}
}

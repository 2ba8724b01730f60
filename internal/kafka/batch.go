// Package kafka is a producer for Kafka, made for speed: batches of records, of which each
// record is written once, where it is sent from; the connection that produce requests go
// over; and the way of a batch to its partition's leader, and to the next leader. What happens
// once, such as the question who leads, is left to the caller. Nothing here knows of load.
package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// Overhead is how many bytes a batch has beside its records.
	Overhead = 61
	// RecordOverhead is how many bytes a record has beside its key, its value and its
	// headers, at most: its length, offset and time, the lengths of key and value of at
	// most 5 bytes each, and its attributes.
	RecordOverhead = 26

	placeBytes = 8 // partition, and length of the batch
	headBytes  = placeBytes + Overhead
)

// Positions in a batch, which its head precedes.
const (
	atLength     = placeBytes + 8
	atLeader     = placeBytes + 12
	atMagic      = placeBytes + 16
	atSum        = placeBytes + 17
	atAttributes = placeBytes + 21
	atLast       = placeBytes + 23
	atFirstTime  = placeBytes + 27
	atMaxTime    = placeBytes + 35
	atProducer   = placeBytes + 43
	atEpoch      = placeBytes + 51
	atFirst      = placeBytes + 53
	atCount      = placeBytes + 57
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is a batch of records for one partition, version 2 of the format of messages
// (https://kafka.apache.org/documentation/#recordbatch). It is used again and again: its
// memory grows to that of the largest one.
type Batch struct {
	partition int32
	count     int
	value     int    // where the value begins that is being appended
	plain     []byte // the place in a request, the head, the records
	packed    bytes.Buffer
	body      []byte // what follows the head of a sealed batch …
	apart     bool   // … and whether it stands in packed

	// Ended is called once after each Producer.Send: err is nil if the broker acknowledged the
	// batch, or took it without acknowledgement. arrived is when the answer came to this host;
	// the zero time: unknown. Then the batch may be used again.
	Ended func(arrived time.Time, err error)

	// Only for the Producer.
	turn     uint64    // place in the order of all batches sent
	deadline time.Time // latest instant of the acknowledgement
	err      error     // latest reason for a missing acknowledgement
	sent     bool      // since Send, perhaps in vain
	counted  bool      // Options.Again was told of its records
	open     bool      // sent, and not answered
	doubts   int       // how often the broker did not say whether it has the batch
	numbered bool      // identity and first are set
	identity Identity
	first    int32 // number of the first record
}

// Reset begins a batch for that partition, with room for so many bytes.
func (b *Batch) Reset(partition int32, room int) {
	b.partition, b.count, b.open, b.doubts = partition, 0, false, 0
	b.plain = slices.Grow(b.plain[:0], headBytes+room)[:headBytes]
}

// Partition is where the batch goes.
func (b *Batch) Partition() int32 { return b.partition }

// Len is the number of records.
func (b *Batch) Len() int { return b.count }

// Size is how many bytes a sealed batch has.
func (b *Batch) Size() int { return Overhead + len(b.body) }

// Filled is how many bytes the batch has so far, before compression.
func (b *Batch) Filled() int { return len(b.plain) - placeBytes }

// Null is the size of a value that is null, as of a tombstone.
const Null = -1

// Begin begins a record with that key, nil for none, a value of so many bytes or Null, and
// headers as AppendHeaders makes them. The caller appends the value to what Begin
// returns, and hands that to End.
func (b *Batch) Begin(key []byte, value int, headers []byte) []byte {
	size := 2 + varintLen(b.count) + bytesLen(key) + varintLen(value) + max(0, value) + len(headers)
	dst := binary.AppendVarint(b.plain, int64(size))
	dst = append(dst, 0, 0) // attributes; the time is the batch's own
	dst = binary.AppendVarint(dst, int64(b.count))
	dst = appendBytes(dst, key)
	dst = binary.AppendVarint(dst, int64(value))
	b.value = len(dst)
	return dst
}

// End ends the record that Begin began, with the same headers. It returns its value and
// its headers where they stand.
func (b *Batch) End(dst, headers []byte) (value, own []byte) {
	end := len(dst)
	b.plain = append(dst, headers...)
	b.count++
	return b.plain[b.value:end:end], b.plain[end:]
}

// RecordSize is how many bytes a record takes at most in a batch of up to a million records, with a
// key of that size, 0 for none, a value of that size or Null, and its headers.
func RecordSize(key, value, headers int) int {
	const attributes, when, offset = 1, 1, 3
	size := attributes + when + offset + varintLen(key) + key + varintLen(value) + max(0, value) + headers
	return varintLen(size) + size
}

// AppendHeaders appends headers as they stand in a record.
func AppendHeaders(dst []byte, list []kgo.RecordHeader) []byte {
	dst = binary.AppendVarint(dst, int64(len(list)))
	for _, h := range list {
		dst = AppendHeader(dst, h.Key, h.Value)
	}
	return dst
}

// AppendHeader appends one header as it stands in a record.
func AppendHeader(dst []byte, key string, value []byte) []byte {
	return appendBytes(append(binary.AppendVarint(dst, int64(len(key))), key...), value)
}

// Seal ends the batch: all its records have that time, and c compresses them; nil: none.
// No record may follow.
func (b *Batch) Seal(at time.Time, c kgo.Compressor) {
	attributes := kgo.CompressionCodecType(0)
	b.body = b.plain[headBytes:]
	if c != nil {
		b.packed.Reset()
		b.body, attributes = c.Compress(&b.packed, b.body)
	}
	b.apart = attributes != 0
	h, size := b.plain[:headBytes], b.Size()
	order := binary.BigEndian
	order.PutUint32(h, uint32(b.partition))
	order.PutUint32(h[4:], uint32(size))
	order.PutUint64(h[placeBytes:], 0) // the broker sets the offset
	order.PutUint32(h[atLength:], uint32(size-(atLeader-placeBytes)))
	order.PutUint32(h[atLeader:], ^uint32(0))
	h[atMagic] = 2
	order.PutUint16(h[atAttributes:], uint16(attributes))
	order.PutUint32(h[atLast:], uint32(b.count-1))
	order.PutUint64(h[atFirstTime:], uint64(at.UnixMilli()))
	order.PutUint64(h[atMaxTime:], uint64(at.UnixMilli()))
	order.PutUint32(h[atCount:], uint32(b.count))
	b.sign(nobody, -1)
}

// sign writes who the producer is, and the number of the first record, with a checksum of all.
func (b *Batch) sign(who Identity, first int32) {
	h, order := b.plain[:headBytes], binary.BigEndian
	order.PutUint64(h[atProducer:], uint64(who.ID))
	order.PutUint16(h[atEpoch:], uint16(who.Epoch))
	order.PutUint32(h[atFirst:], uint32(first))
	sum := crc32.Checksum(h[atAttributes:], castagnoli)
	order.PutUint32(h[atSum:], crc32.Update(sum, castagnoli, b.body))
}

// pieces appends what is to be sent of a sealed batch.
func (b *Batch) pieces(dst [][]byte) [][]byte {
	if b.apart {
		return append(dst, b.plain[:headBytes], b.body)
	}
	return append(dst, b.plain)
}

// varintLen is how many bytes n takes in Kafka's zigzag encoding.
func varintLen(n int) int {
	size := 1
	for n = n<<1 ^ n>>63; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// bytesLen and appendBytes are of a byte string with its length before it, -1 for nil.
func bytesLen(b []byte) int {
	if b == nil {
		return 1
	}
	return varintLen(len(b)) + len(b)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

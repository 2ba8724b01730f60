package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// noop makes and serialises batches as Kafka's protocol wants them, compressed and
// with their checksum, and throws them away: what a generator can do at most.
type noop struct {
	wire     *wire
	compress kgo.Compressor // nil: none
	body     []byte
	packed   bytes.Buffer
	table    *crc32.Table
	sum      uint32
}

func (o *Produce) openNoop() (client, error) {
	n := &noop{wire: o.wire, table: crc32.MakeTable(crc32.Castagnoli)}
	if o.Compression == "none" {
		return n, nil
	}
	compression, _ := codecOf(o.Compression)
	var err error
	n.compress, err = kgo.DefaultCompressor(compression.franz())
	return n, err
}

// write implements client.
func (n *noop) write(b *batch) {
	n.body = n.body[:0]
	for i := range b.records {
		n.body = appendRecord(n.body, &b.records[i], i, b.worker.headers)
	}
	out := n.body
	if n.compress != nil {
		n.packed.Reset()
		out, _ = n.compress.Compress(&n.packed, n.body)
	}
	n.sum += crc32.Checksum(out, n.table) // kept, so that it is computed
	n.wire.sent.Add(int64(len(out) + batchOverhead))
	for i := range b.records {
		b.end(i, nil)
	}
}

func (n *noop) commit(context.Context, bool) error { return nil }
func (n *noop) close()                             {}

// appendRecord appends r as record number i of a batch, in version 2 of Kafka's format
// of messages.
func appendRecord(dst []byte, r *record, i int, fixed []kgo.RecordHeader) []byte {
	size := 1 + 1 + varint(i) + bytesLen(r.key) + bytesLen(r.value)
	headers := len(fixed)
	for _, h := range fixed {
		size += varint(len(h.Key)) + len(h.Key) + bytesLen(h.Value)
	}
	if r.stamp != nil {
		headers++
		size += varint(len(stampHeader)) + len(stampHeader) + bytesLen(r.stamp)
	}
	size += varint(headers)
	dst = slices.Grow(dst, size+binary.MaxVarintLen32)
	dst = binary.AppendVarint(dst, int64(size))
	dst = append(dst, 0, 0) // attributes; the time is the batch's own
	dst = binary.AppendVarint(dst, int64(i))
	dst = appendBytes(dst, r.key)
	dst = appendBytes(dst, r.value)
	dst = binary.AppendVarint(dst, int64(headers))
	if r.stamp != nil {
		dst = appendBytes(append(binary.AppendVarint(dst, int64(len(stampHeader))), stampHeader...), r.stamp)
	}
	for _, h := range fixed {
		dst = appendBytes(append(binary.AppendVarint(dst, int64(len(h.Key))), h.Key...), h.Value)
	}
	return dst
}

// varint is how many bytes n takes in Kafka's zigzag encoding.
func varint(n int) int {
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
	return varint(len(b)) + len(b)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

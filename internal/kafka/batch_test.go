package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Records are serialised as the protocol's own package does it.
func TestRecords(t *testing.T) {
	lists := [][]kgo.RecordHeader{nil, {{Key: "a", Value: []byte("b")}, {Key: "none"}}, {{Key: "long", Value: make([]byte, 300)}}}
	var b Batch
	b.Reset(3, 0)
	var want []byte
	for i := range 200 { // from 64 on, an offset takes two bytes
		list, value := lists[i%len(lists)], bytes.Repeat([]byte("x"), 40*(i%5))
		r := kmsg.Record{OffsetDelta: int32(i), Value: value, Key: [][]byte{nil, {}, []byte("key")}[i%3]}
		for _, h := range list {
			r.Headers = append(r.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
		}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // what follows the length, of which the 0 takes one byte
		want = r.AppendTo(want)
		headers := AppendHeaders(nil, list)
		got, own := b.End(append(b.Begin(r.Key, len(value), headers), value...), headers)
		if !bytes.Equal(got, value) || !bytes.Equal(own, headers) {
			t.Fatalf("record %d: value %q, headers %q", i, got, own)
		}
	}
	if got := b.plain[headBytes:]; !bytes.Equal(got, want) || b.Len() != 200 {
		t.Errorf("%d records:\n%x, want\n%x", b.Len(), got, want)
	}
}

// batches are sealed ones of the partitions 0, 1 and so on.
func batches(n int, c kgo.Compressor) (list []*Batch) {
	none := AppendHeaders(nil, nil)
	for i := range n {
		b := &Batch{}
		b.Reset(int32(i), 0)
		for range 10 * (i + 1) {
			b.End(append(b.Begin(nil, 300, none), bytes.Repeat([]byte("v"), 300)...), none)
		}
		b.Seal(time.UnixMilli(1234567890123), c)
		list = append(list, b)
	}
	return list
}

// A whole request is what the protocol's own package reads out of it.
func TestRequest(t *testing.T) {
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		compress, err := kgo.DefaultCompressor(codec)
		if err != nil {
			t.Fatal(err)
		}
		for _, gathers := range []bool{false, true} {
			var out bytes.Buffer
			c := connTo(&out, gathers)
			c.next = 77
			list := batches(3, compress)
			if err := c.send(list); err != nil {
				t.Fatal(err)
			}
			checkRequest(t, out.Bytes(), list)
		}
	}
}

func checkRequest(t *testing.T, sent []byte, list []*Batch) {
	t.Helper()
	order := binary.BigEndian
	if size := int(order.Uint32(sent)); size != len(sent)-4 {
		t.Errorf("the request says %d bytes and has %d", size, len(sent)-4)
	}
	if key, version, number := order.Uint16(sent[4:]), order.Uint16(sent[6:]), order.Uint32(sent[8:]); key != 0 || version != Newest || number != 77 {
		t.Errorf("request %d of key %d, version %d", number, key, version)
	}
	req := kmsg.ProduceRequest{Version: Newest}
	if err := req.ReadFrom(sent[12+2+len("takt"):]); err != nil {
		t.Fatal(err)
	}
	if req.TransactionID != nil || req.Acks != -1 || req.TimeoutMillis != 1500 || len(req.Topics) != 1 || req.Topics[0].Topic != "topic" || len(req.Topics[0].Partitions) != len(list) {
		t.Fatalf("%+v", req)
	}
	for i, p := range req.Topics[0].Partitions {
		if p.Partition != int32(i) || len(p.Records) != list[i].Size() {
			t.Errorf("partition %d has %d bytes, want %d", p.Partition, len(p.Records), list[i].Size())
		}
		checkBatch(t, p.Records, list[i])
	}
}

func checkBatch(t *testing.T, sent []byte, b *Batch) {
	t.Helper()
	var got kmsg.RecordBatch
	if err := got.ReadFrom(sent); err != nil {
		t.Fatal(err)
	}
	plain, err := kgo.DefaultDecompressor().Decompress(got.Records, kgo.CompressionCodecType(got.Attributes))
	if err != nil || !bytes.Equal(plain, b.plain[headBytes:]) {
		t.Errorf("the records are not what went in: %v", err)
	}
	if sum := crc32.Checksum(sent[21:], crc32.MakeTable(crc32.Castagnoli)); uint32(got.CRC) != sum {
		t.Errorf("checksum %x, want %x", got.CRC, sum)
	}
	got.CRC, got.Records, got.Attributes = 0, nil, 0
	want := kmsg.RecordBatch{
		Length: int32(len(sent) - 12), PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(b.Len() - 1),
		FirstTimestamp: 1234567890123, MaxTimestamp: 1234567890123, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(b.Len()),
	}
	if a, b := got.AppendTo(nil), want.AppendTo(nil); !bytes.Equal(a, b) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// To make and send a batch costs no allocation.
func TestNoAllocations(t *testing.T) {
	var b Batch
	c := connTo(&bytes.Buffer{}, true)
	headers, value := AppendHeaders(nil, nil), make([]byte, 300)
	list := []*Batch{&b}
	each := testing.AllocsPerRun(100, func() {
		b.Reset(0, 100*400)
		for range 100 {
			b.End(append(b.Begin(nil, len(value), headers), value...), headers)
		}
		b.Seal(time.Time{}, nil)
		if err := c.send(list); err != nil {
			t.Fatal(err)
		}
		c.Conn.(*gathering).Buffer.Reset()
	})
	if each != 0 {
		t.Errorf("%v allocations", each)
	}
}

func BenchmarkBatch(b *testing.B) {
	var batch Batch
	headers, value := AppendHeaders(nil, nil), make([]byte, 300)
	b.SetBytes(300)
	for n := 0; n < b.N; n += 500 {
		batch.Reset(0, 500*400)
		for range 500 {
			batch.End(append(batch.Begin(nil, len(value), headers), value...), headers)
		}
		batch.Seal(time.Time{}, nil)
	}
}

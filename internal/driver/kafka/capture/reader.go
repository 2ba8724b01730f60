package capture

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/kafka"
	"github.com/taktload/takt/internal/trace"
)

// Reader is the records of a file as a trace.Stream.
type Reader struct {
	Topic      string
	Partitions int32

	path string
	own  kgo.RecordHeader // header that each record gets
	file *os.File
	stop func()
	in   *bufio.Reader
	long []byte // of a line that is longer than the buffer
	line int
}

// mostWindow limits the memory of a zstd file from a stranger.
const mostWindow = 128 << 20

// Open opens a file and reads its first line. Each record gets the header own as its first
// one, whose value is for the caller to fill in: zeros. Without a name there is none.
func Open(path string, own kgo.RecordHeader) (*Reader, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the records: %w; check --recorded", err)
	}
	r := &Reader{path: path, own: own, file: f, stop: func() {}, in: bufio.NewReaderSize(f, 256<<10)}
	if err := r.unpack(); err != nil {
		r.Close()
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	first, err := r.next()
	var h head
	if err == nil {
		err = json.Unmarshal(first, &h)
	}
	if err != nil || h.Version != version || h.Partitions < 1 {
		r.Close()
		return nil, fmt.Errorf("%s is not a file of takt kafka consume --capture, or of a newer takt; make it with --capture", path)
	}
	r.Topic, r.Partitions = h.Topic, h.Partitions
	return r, nil
}

func (r *Reader) unpack() error {
	magic, _ := r.in.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r.in)
		if err != nil {
			return err
		}
		r.in = bufio.NewReaderSize(z, 256<<10)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
		if err != nil {
			return err
		}
		r.stop, r.in = z.Close, bufio.NewReaderSize(z, 256<<10)
	}
	return nil
}

// Close implements io.Closer.
func (r *Reader) Close() error {
	r.stop()
	return r.file.Close()
}

// next is the next line, valid until the next call.
func (r *Reader) next() ([]byte, error) {
	r.line++
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.long)+len(part) > mostLine {
			return nil, fmt.Errorf("line %d of %s is longer than %d bytes", r.line, r.path, mostLine)
		}
		switch {
		case err == nil && len(r.long) == 0:
			return part, nil
		case err == nil:
			return append(r.long, part...), nil
		case errors.Is(err, bufio.ErrBufferFull):
			r.long = append(r.long, part...)
		case err == io.EOF && len(part)+len(r.long) == 0:
			return nil, io.EOF
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("%s is cut off in line %d; the records before it are good", r.path, r.line)
		default:
			return nil, fmt.Errorf("%s cannot be read in line %d: %w", r.path, r.line, err)
		}
	}
}

// Bits of trace.Record.Status.
const (
	hasKey = 1 << iota
	hasValue
	hasStamp
)

// Next implements trace.Stream. Decode reads what it leaves in rec.
func (r *Reader) Next(rec *trace.Record) error {
	text, err := r.next()
	if err != nil {
		return err
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("line %d of %s is not a record: %w", r.line, r.path, err)
	}
	key, ok := bytesOf(l.Key, l.Key64)
	value, fine := bytesOf(l.Value, l.Value64)
	var list []kgo.RecordHeader
	if r.own.Key != "" {
		list = append(list, r.own)
	}
	for _, h := range l.Headers {
		b, valid := bytesOf(h.Value, h.Value64)
		fine = fine && valid
		list = append(list, kgo.RecordHeader{Key: h.Name, Value: b})
	}
	if !ok || !fine || l.Partition < 0 || l.Partition >= r.Partitions || l.At <= 0 {
		return fmt.Errorf("line %d of %s is not a record: its texts, its time t or its partition p are not valid", r.line, r.path)
	}
	rec.Reset()
	rec.At, rec.Bytes, rec.URI, rec.Body, rec.File, rec.Line = time.UnixMilli(l.At), int64(l.Partition), key, value, r.path, r.line
	if rec.Status = 0; r.own.Key != "" {
		rec.Status, rec.RequestBytes = hasStamp, int64(len(r.own.Value))
	}
	if key != nil {
		rec.Status |= hasKey
	}
	if value != nil {
		rec.Status |= hasValue
	}
	rec.Header = kafka.AppendHeaders(nil, list)
	return nil
}

// Record is a record that is to be written again.
type Record struct {
	Partition int32
	Key       []byte // nil: none
	Value     []byte // nil: a tombstone
	Headers   []byte // as they are in a batch, with room for a stamp in the first
	StampAt   int    // offset of that room; 0: there is none
}

// Decode copies a record out of rec, which Next has filled.
func Decode(rec *trace.Record) *Record {
	out := &Record{Partition: int32(rec.Bytes), Headers: bytes.Clone(rec.Header)}
	if rec.Status&hasKey != 0 {
		out.Key = append([]byte{}, rec.URI...)
	}
	if rec.Status&hasValue != 0 {
		out.Value = append([]byte{}, rec.Body...)
	}
	if rec.Status&hasStamp != 0 { // nothing before the first value is zero
		out.StampAt = bytes.Index(out.Headers, make([]byte, rec.RequestBytes))
	}
	return out
}

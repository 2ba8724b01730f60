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
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/files"
)

// ErrFull ends a capture whose file has its largest size.
var ErrFull = errors.New("the file of --capture has its largest size")

// Limits of what waits for records of other partitions.
const (
	mostWaiting = 64 << 20 // bytes in all; then records are written in the order in which they came
	laneBytes   = 4 << 20  // bytes of one partition, above which it is not fetched for a while
)

// Writer merges the partitions of a topic by their records' timestamps, and writes them.
type Writer struct {
	file   *os.File
	sized  *sized
	pack   io.WriteCloser // nil: no compression
	out    *bufio.Writer
	line   bytes.Buffer // the next line
	codec  *json.Encoder
	closed bool
	own    string // name of takt's own header

	mu      sync.Mutex
	lanes   map[int32]*lane
	waiting int // bytes in all lanes
	records uint64
	early   uint64 // records written before older ones of other partitions, perhaps
	err     error
}

// lane is what waits of one partition.
type lane struct {
	queue  []*kgo.Record
	bytes  int
	caught bool // read to the end of the log, as far as is known
	paused bool
}

// sized counts what a file has room for.
type sized struct {
	w    io.Writer
	left int64
}

func (s *sized) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.left -= int64(n)
	return n, err
}

// What may be on its way to the file when a line is added, so that a file never ends within a line.
const (
	bufferBytes = 64 << 10
	packedBytes = 256 << 10 // blocks and the end of a compressed file
)

// fits reports whether the file has room for the line, compressed or not.
func (w *Writer) fits() bool {
	below := int64(bufferBytes)
	if w.pack != nil {
		below += packedBytes
	}
	return int64(w.line.Len())+below <= w.sized.left
}

// Create makes the file, which only its owner may read. most is its largest size in bytes. Headers with
// the name own are left out: what writes a record again gives it a stamp of its own.
func Create(path, topic string, partitions int32, most int64, own string) (*Writer, error) {
	f, err := files.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot create the file of --capture: %w", err)
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil { // the file is older, and what it gets may be secret
			f.Close()
			return nil, fmt.Errorf("cannot close the file of --capture to others: %w; name another file", err)
		}
	}
	w := &Writer{file: f, own: own, sized: &sized{f, most}, lanes: map[int32]*lane{}}
	var below io.Writer = w.sized
	switch {
	case strings.HasSuffix(path, ".zst"):
		w.pack, err = zstd.NewWriter(below, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		below = w.pack
	case strings.HasSuffix(path, ".gz"):
		w.pack = gzip.NewWriter(below)
		below = w.pack
	}
	w.out = bufio.NewWriterSize(below, bufferBytes)
	w.codec = json.NewEncoder(&w.line)
	w.codec.SetEscapeHTML(false)
	if err == nil {
		err = w.add(head{version, topic, partitions})
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return w, nil
}

// Expect notes a partition before its first record. caught: it has no record so far.
func (w *Writer) Expect(partition int32, caught bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lanes[partition] = &lane{caught: caught}
}

// Add adds records of one partition, which was read up to the offset next of end. pause and resume are partitions that the
// caller fetches no more for a while, or again.
func (w *Writer) Add(partition int32, records []*kgo.Record, next, end int64) (pause, resume []int32, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[partition]
	if l == nil {
		l = &lane{}
		w.lanes[partition] = l
	}
	for _, r := range records {
		n := sizeOf(r)
		l.bytes, w.waiting = l.bytes+n, w.waiting+n
	}
	l.queue = append(l.queue, records...)
	l.caught = next >= end
	w.drain(false)
	for n, l := range w.lanes {
		switch {
		case !l.paused && l.bytes > laneBytes:
			l.paused, pause = true, append(pause, n)
		case l.paused && l.bytes <= laneBytes/2:
			l.paused, resume = false, append(resume, n)
		}
	}
	return pause, resume, w.err
}

func sizeOf(r *kgo.Record) int {
	n := 64 + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// drain writes the oldest record while no other partition can have an older one. The caller holds the
// lock.
func (w *Writer) drain(all bool) {
	for w.err == nil {
		var oldest *lane
		blocked := false
		for _, l := range w.lanes {
			if len(l.queue) == 0 {
				blocked = blocked || !l.caught
			} else if oldest == nil || l.queue[0].Timestamp.Before(oldest.queue[0].Timestamp) {
				oldest = l
			}
		}
		if oldest == nil || blocked && !all && w.waiting < mostWaiting {
			return
		}
		if blocked && !all {
			w.early++
		}
		r := oldest.queue[0]
		oldest.queue[0] = nil
		oldest.queue = oldest.queue[1:]
		oldest.bytes -= sizeOf(r)
		w.waiting -= sizeOf(r)
		w.write(r)
	}
}

func (w *Writer) write(r *kgo.Record) {
	l := line{At: r.Timestamp.UnixMilli(), Partition: r.Partition, Offset: r.Offset}
	l.Key, l.Key64 = texts(r.Key)
	l.Value, l.Value64 = texts(r.Value)
	for _, h := range r.Headers {
		if h.Key == w.own {
			continue
		}
		one := header{Name: h.Key}
		one.Value, one.Value64 = texts(h.Value)
		l.Headers = append(l.Headers, one)
	}
	if w.err = w.add(l); w.err == nil {
		w.records++
	}
}

// add writes a line, or ErrFull: a line is whole or not there.
func (w *Writer) add(line any) error {
	w.line.Reset()
	if err := w.codec.Encode(line); err != nil {
		return err
	}
	if !w.fits() {
		return ErrFull
	}
	_, err := w.out.Write(w.line.Bytes())
	return err
}

// Close writes what still waits, and ends the file.
func (w *Writer) Close() (records, early uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.records, w.early, w.err
	}
	w.closed = true
	w.drain(true)
	errs := []error{w.err, w.out.Flush()}
	if w.pack != nil {
		errs = append(errs, w.pack.Close())
	}
	errs = append(errs, w.file.Close())
	w.err = errors.Join(errs...)
	return w.records, w.early, w.err
}

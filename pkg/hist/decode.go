package hist

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// The sizes in bytes of the V2 encoding: its headers, and at most nine bytes for each count
// up to the one of Highest, which is below 2⁴².
const (
	compressedHeader = 8
	header           = 40
	mostCounts       = 33 << 10
	longestCount     = 9
	mostPlain        = header + mostCounts*longestCount
)

// Decoder reads histograms from outside: only those with takt's own range and precision, in
// bounded memory, and with no count or sum beyond 2⁶³. A decoder reads many histograms with
// the same buffers. The zero value is ready. It is not safe for concurrent use.
type Decoder struct {
	text  []byte // decoded base64
	plain bytes.Buffer
	unzip io.ReadCloser
}

// Merge adds the histogram that s encodes to h. After an error h may have a part of it.
func (d *Decoder) Merge(h *Histogram, s string) error {
	return d.Each(s, h.add)
}

// add counts a value n times, unless the sum would be too large.
func (h *Histogram) add(value time.Duration, n int64) error {
	if n > math.MaxInt64-h.h.TotalCount() {
		return errTooMany
	}
	return h.h.RecordValues(int64(value), n)
}

// Each calls do for each bucket in use of the histogram that s encodes, lowest first, with its
// lowest value and its count above 0. An error of do ends it.
func (d *Decoder) Each(s string, do func(value time.Duration, n int64) error) error {
	if s == "" {
		return nil
	}
	if err := d.each(s, do); err != nil {
		return notEncoded(err)
	}
	return nil
}

func (d *Decoder) each(s string, do func(value time.Duration, n int64) error) error {
	counts, err := d.counts(s)
	if err != nil {
		return err
	}
	return eachCount(counts, do)
}

// counts returns the counts in s, until the next call.
func (d *Decoder) counts(s string) ([]byte, error) {
	if len(s) > base64.StdEncoding.EncodedLen(compressedHeader+mostPlain) {
		return nil, fmt.Errorf("it has %d bytes, more than any histogram of takt", len(s))
	}
	var err error
	if d.text, err = base64.StdEncoding.AppendDecode(d.text[:0], []byte(s)); err != nil {
		return nil, err
	}
	if err := d.inflate(); err != nil {
		return nil, err
	}
	return checkHeader(d.plain.Bytes())
}

// inflate decompresses the text into plain, up to the largest possible histogram.
func (d *Decoder) inflate() error {
	if len(d.text) < compressedHeader {
		return fmt.Errorf("it has %d bytes, less than its header", len(d.text))
	}
	if got := binary.BigEndian.Uint32(d.text); got != compressedCookie {
		return fmt.Errorf("it begins with %#x, not %#x", got, uint32(compressedCookie))
	}
	packed := bytes.NewReader(d.text[compressedHeader:])
	if n := binary.BigEndian.Uint32(d.text[4:]); int64(n) != packed.Size() {
		return fmt.Errorf("it has %d bytes of the %d that its header promises", packed.Size(), n)
	}
	var err error
	if reset, ok := d.unzip.(zlib.Resetter); ok {
		err = reset.Reset(packed, nil)
	} else {
		d.unzip, err = zlib.NewReader(packed)
	}
	if err != nil {
		return err
	}
	d.plain.Reset()
	_, err = d.plain.ReadFrom(io.LimitReader(d.unzip, mostPlain+1)) // zlib checks its checksum at the end
	return err
}

// checkHeader returns the counts after a header with takt's own range.
func checkHeader(plain []byte) (counts []byte, err error) {
	var own [header]byte
	appendHeader(own[:0])
	switch {
	case len(plain) < header:
		return nil, fmt.Errorf("it unpacks to %d bytes, less than its header", len(plain))
	case len(plain) > mostPlain:
		return nil, fmt.Errorf("it unpacks to more than %d bytes, the most that a histogram has", mostPlain)
	case binary.BigEndian.Uint32(plain) != cookie:
		return nil, fmt.Errorf("its counts begin with %#x, not %#x", plain[:4], uint32(cookie))
	case binary.BigEndian.Uint32(plain[4:]) != uint32(len(plain)-header):
		return nil, fmt.Errorf("it has %d bytes of counts, and its header promises %d", len(plain)-header, binary.BigEndian.Uint32(plain[4:]))
	case !bytes.Equal(plain[12:32], own[12:32]): // the 4 bytes before have no meaning in this encoding
		return nil, fmt.Errorf("its range or precision is not %v to %v with %d digits", Lowest, Highest, Digits)
	}
	return plain[header:], nil
}

// errTooMany says that the sum of the counts is too large for a histogram.
var errTooMany = errors.New("its counts make more than 2^63 values")

func eachCount(counts []byte, do func(value time.Duration, n int64) error) error {
	for i := int64(0); len(counts) > 0; {
		n, size := readCount(counts)
		if size == 0 {
			return errors.New("its last count is cut off")
		}
		counts = counts[size:]
		switch {
		case n < 0 && n < -mostCounts, i-min(n, 0) > mostCounts, n >= 0 && i >= mostCounts:
			return fmt.Errorf("it has more than %d counts", mostCounts)
		case n < 0:
			i -= n
			continue
		case n > 0:
			if err := do(valueAt(int(i)), n); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

// readCount is the inverse of appendCount; size 0: b is too short.
func readCount(b []byte) (n int64, size int) {
	var u uint64
	for i, c := range b[:min(len(b), longestCount)] {
		if i == longestCount-1 || c < 0x80 {
			u |= uint64(c) << (7 * i)
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
		u |= uint64(c&0x7f) << (7 * i)
	}
	return 0, 0
}

// valueAt is the lowest value of a bucket, the inverse of index.
func valueAt(i int) time.Duration {
	if i < 2048 {
		return time.Duration(i)
	}
	return time.Duration(1024+i&1023) << (i>>10 - 1)
}

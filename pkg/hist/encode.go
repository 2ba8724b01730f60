package hist

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The V2 encoding: cookies of the two headers, with the bits for words of 64.
const (
	cookie           = 0x1c849313
	compressedCookie = 0x1c849314
)

// Encoder encodes one histogram after the other with the same buffers, about
// 800 KiB that zlib wants. The library makes them anew each time: with two
// histograms a second that was 1.7 MB/s, nearly all the garbage of a run. The zero
// value is ready. It is not safe for concurrent use.
type Encoder struct {
	// Rest is called between pieces of the work, which take some 0.1 ms each; nil: all is
	// done at once.
	Rest func()

	inUse  *hdrhistogram.PackedHistogram // the buckets that are not 0
	plain  []byte                        // header and counts
	packed bytes.Buffer                  // header and what zlib made of plain
	text   []byte                        // in base64
	zip    *zlib.Writer                  // into packed
}

// Encode returns h in the V2 compressed encoding, base64, which the Java
// HdrHistogram and every other implementation reads; "" when h is empty. It is
// the library's text, byte for byte.
func (e *Encoder) Encode(h *Histogram) string {
	if h.h.TotalCount() == 0 {
		return ""
	}
	return e.encode(h.h)
}

// encode has a text for an empty histogram too, which a log wants.
func (e *Encoder) encode(h *hdrhistogram.Histogram) string {
	if !isOurs(h) {
		return encodeOther(h)
	}
	e.prepare()
	e.rest()
	e.inUse.MergeFrom(h) // nothing is dropped: the range is the same
	e.rest()
	e.plain = appendHeader(e.plain[:0])
	begin := len(e.plain)
	e.plain = appendCounts(e.plain, e.inUse)
	binary.BigEndian.PutUint32(e.plain[4:], uint32(len(e.plain)-begin))
	e.rest()
	return e.compress()
}

func (e *Encoder) rest() {
	if e.Rest != nil {
		e.Rest()
	}
}

func (e *Encoder) prepare() {
	e.packed.Reset()
	if e.zip == nil {
		e.inUse = hdrhistogram.NewPacked(int64(Lowest), int64(Highest), Digits)
		e.zip, _ = zlib.NewWriterLevel(&e.packed, zlib.BestCompression) // fails for levels that do not exist
		return
	}
	e.inUse.Reset()
	e.zip.Reset(&e.packed)
}

// isOurs is not true of what Decode read from somebody else.
func isOurs(h *hdrhistogram.Histogram) bool {
	return h.LowestTrackableValue() == int64(Lowest) && h.HighestTrackableValue() == int64(Highest) && h.SignificantFigures() == Digits
}

func encodeOther(h *hdrhistogram.Histogram) string {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "" // cannot happen: writing to memory, in a version that exists
	}
	return string(b)
}

// appendHeader leaves the length of the counts, bytes 4 to 7, to be filled in.
func appendHeader(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, cookie)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, 0) // the counts are not shifted
	b = binary.BigEndian.AppendUint32(b, Digits)
	b = binary.BigEndian.AppendUint64(b, uint64(Lowest))
	b = binary.BigEndian.AppendUint64(b, uint64(Highest))
	return binary.BigEndian.AppendUint64(b, math.Float64bits(1)) // a value stands for itself
}

// appendCounts writes the counts up to the last that is not 0, and at least one.
func appendCounts(b []byte, h *hdrhistogram.PackedHistogram) []byte {
	next := 0
	for value, count := range h.ForEachBucket {
		i := index(uint64(value))
		b = appendZeros(b, i-next)
		b = appendCount(b, count)
		next = i + 1
	}
	if next == 0 {
		b = appendCount(b, 0)
	}
	return b
}

// appendZeros writes n counts of 0: one as it is, more as the negative of how many.
func appendZeros(b []byte, n int) []byte {
	switch n {
	case 0:
		return b
	case 1:
		return appendCount(b, 0)
	}
	return appendCount(b, -int64(n))
}

// appendCount is LEB128 of the zigzag of n, but that a ninth byte, the last, has
// eight bits of it.
func appendCount(b []byte, n int64) []byte {
	u := uint64(n<<1 ^ n>>63)
	for range 8 {
		if u < 0x80 {
			break
		}
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// index is the place of a value's count. Below 2048 = 2¹¹ each value has its own;
// from there on each power of two is cut into 1024, so eleven bits are kept.
func index(value uint64) int {
	shift := max(0, bits.Len64(value)-11)
	return shift<<10 + int(value>>shift)
}

func (e *Encoder) compress() string {
	var header [8]byte
	e.packed.Write(header[:])
	_, _ = e.zip.Write(e.plain) // into memory
	_ = e.zip.Close()
	b := e.packed.Bytes()
	binary.BigEndian.PutUint32(b, compressedCookie)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-len(header)))
	e.text = base64.StdEncoding.AppendEncode(e.text[:0], b)
	return string(e.text)
}

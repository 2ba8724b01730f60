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

// The V2 encoding: cookies of the two headers, with the bits for 64-bit words.
const (
	cookie           = 0x1c849313
	compressedCookie = 0x1c849314
)

// Encoder encodes many histograms with the same buffers, about 800 KiB for zlib. The library
// allocates them for each histogram: with two histograms a second that was 1.7 MB/s, nearly
// all the garbage of a run. The zero value is ready. It is not safe for concurrent use.
type Encoder struct {
	// Rest is called between pieces of the work, some 0.1 ms each; nil: no pauses.
	Rest func()

	inUse  *hdrhistogram.PackedHistogram // the buckets above 0
	plain  []byte                        // header and counts
	packed bytes.Buffer                  // header and compressed plain
	text   []byte                        // packed in base64
	zip    *zlib.Writer                  // writes into packed
}

// Encode returns h in the V2 compressed encoding, in base64, which the Java HdrHistogram and
// every other implementation reads; "" for an empty h. The text equals the library's, byte
// for byte.
func (e *Encoder) Encode(h *Histogram) string {
	if h.h.TotalCount() == 0 {
		return ""
	}
	return e.encode(h.h)
}

// encode also encodes an empty histogram, for a log.
func (e *Encoder) encode(h *hdrhistogram.Histogram) string {
	if !isOurs(h) {
		return encodeOther(h)
	}
	e.prepare()
	e.rest()
	e.inUse.MergeFrom(h) // no value is dropped: the range is the same
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
		e.zip, _ = zlib.NewWriterLevel(&e.packed, zlib.BestCompression) // fails only for unknown levels
	}
	e.inUse.Reset()
	e.zip.Reset(&e.packed)
}

// isOurs reports whether h has takt's range and precision. A histogram that Decode read may
// have others.
func isOurs(h *hdrhistogram.Histogram) bool {
	return h.LowestTrackableValue() == int64(Lowest) && h.HighestTrackableValue() == int64(Highest) && h.SignificantFigures() == Digits
}

func encodeOther(h *hdrhistogram.Histogram) string {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "" // cannot happen: writes to memory, in a known version
	}
	return string(b)
}

// appendHeader writes 0 as the length of the counts, bytes 4 to 7; the caller fills it in.
func appendHeader(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, cookie)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, 0) // the counts are not shifted
	b = binary.BigEndian.AppendUint32(b, Digits)
	b = binary.BigEndian.AppendUint64(b, uint64(Lowest))
	b = binary.BigEndian.AppendUint64(b, uint64(Highest))
	return binary.BigEndian.AppendUint64(b, math.Float64bits(1)) // factor of the values: 1
}

// appendCounts writes the counts up to the last one above 0, at least one count.
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

// appendZeros writes n counts of 0: a single one as 0, several as −n.
func appendZeros(b []byte, n int) []byte {
	switch n {
	case 0:
		return b
	case 1:
		return appendCount(b, 0)
	}
	return appendCount(b, -int64(n))
}

// appendCount is LEB128 of the zigzag of n, except that a ninth byte, the last, has eight
// bits of the value.
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

// index is the index of a value's count. Below 2048 = 2¹¹ each value has its own count.
// Above, each power of two is divided into 1024, so eleven bits are kept.
func index(value uint64) int {
	shift := max(0, bits.Len64(value)-11)
	return shift<<10 + int(value>>shift)
}

func (e *Encoder) compress() string {
	var header [8]byte
	e.packed.Write(header[:])
	_, _ = e.zip.Write(e.plain) // cannot fail: writes to memory
	_ = e.zip.Close()
	b := e.packed.Bytes()
	binary.BigEndian.PutUint32(b, compressedCookie)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-len(header)))
	e.text = base64.StdEncoding.AppendEncode(e.text[:0], b)
	return string(e.text)
}

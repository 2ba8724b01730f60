package hist

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What the encoder writes the decoder reads, whatever it read before.
func TestDecoder(t *testing.T) {
	var d Decoder
	for round := range 2 {
		for name, h := range some() {
			back := New()
			if err := d.Merge(back, h.Encode()); err != nil || !back.h.Equals(h.h) {
				t.Errorf("%s, round %d: %v, or other counts", name, round, err)
			}
		}
	}
	sum, part := New(), random(1e6, 1000)
	for range 3 {
		if err := d.Merge(sum, part.Encode()); err != nil {
			t.Fatal(err)
		}
	}
	if sum.Count() != 3*part.Count() {
		t.Errorf("%d values, want 3 × %d", sum.Count(), part.Count())
	}
}

// packed is a histogram of the given header and counts, as a stranger would make it.
func packed(t *testing.T, head, counts []byte) string {
	t.Helper()
	var b bytes.Buffer
	b.Write(make([]byte, compressedHeader))
	z := zlib.NewWriter(&b)
	z.Write(append(bytes.Clone(head), counts...))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(b.Bytes(), compressedCookie)
	binary.BigEndian.PutUint32(b.Bytes()[4:], uint32(b.Len()-compressedHeader))
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func headOf(counts []byte) []byte {
	head := appendHeader(nil)
	binary.BigEndian.PutUint32(head[4:], uint32(len(counts)))
	return head
}

func TestDecoderRefuses(t *testing.T) {
	const most = math.MaxInt64
	good := of(5, 7).Encode()
	list := func(counts ...int64) (b []byte) {
		for _, n := range counts {
			b = appendCount(b, n)
		}
		return b
	}
	plain := func(counts []byte) string { return packed(t, headOf(counts), counts) }
	other := hdrhistogram.New(1, int64(24*time.Hour), 3)
	_ = other.RecordValue(5)
	for _, c := range []struct{ name, text, want string }{
		{"no base64", "nonsense!", "illegal base64 data"},
		{"too short", "AAAA", "less than its header"},
		{"long", strings.Repeat("A", 1<<20), "more than any histogram"},
		{"cookie", base64.StdEncoding.EncodeToString(make([]byte, 8)), "it begins with 0x0"},
		{"cut off", good[:len(good)-8], "that its header promises"},
		{"other range", encodeOther(other), "its range or precision is not 1ns to 1h0m0s with 3 digits"},
		{"zip bomb", plain(make([]byte, 1<<20)), "it unpacks to more than"},
		{"length", packed(t, headOf(make([]byte, 258)), list(1)), "it has 1 bytes of counts, and its header promises 258"},
		{"cookie of the counts", packed(t, append([]byte{1, 2, 3, 4}, headOf(nil)[4:]...), nil), "its counts begin with 0x01020304, not 0x1c849313;"},
		{"no header", packed(t, nil, []byte("abc")), "it unpacks to 3 bytes"},
		{"sum", plain(list(0, most, 1)), "more than 2^63"},
		{"sum that wraps", plain(list(0, most, most, 5)), "more than 2^63"},
		{"counts", plain(list(-mostCounts, 1)), "more than 33792 counts"},
		{"counts behind the last", plain(list(-mostCounts, 0)), "more than 33792 counts"},
		{"zeros in two parts", plain(list(1-mostCounts, -2)), "more than 33792 counts"},
		{"zeros", plain(list(-mostCounts - 1)), "more than 33792 counts"},
		{"zeros of 2^63", plain(list(-most - 1)), "more than 33792 counts"},
		{"cut count", plain([]byte{0x80}), "its last count is cut off"},
	} {
		var d Decoder
		if err := d.Merge(New(), c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if err := d.Merge(New(), good); err != nil {
			t.Errorf("after %s: %v", c.name, err)
		}
	}
}

// What just fits is not refused: as many counts as there can be, each as long as it can
// be, and a text as long as it can be.
func TestDecoderAcceptsTheMost(t *testing.T) {
	plain := func(counts []byte) string { return packed(t, headOf(counts), counts) }
	long := append(bytes.Repeat([]byte{0x80}, longestCount-1), 0) // 0 in nine bytes
	whole, err := base64.StdEncoding.DecodeString(of(5, 7).Encode())
	if err != nil {
		t.Fatal(err)
	}
	whole = append(whole, make([]byte, compressedHeader+mostPlain-len(whole))...) // zlib ends before
	binary.BigEndian.PutUint32(whole[4:], uint32(len(whole)-compressedHeader))
	for name, c := range map[string]struct {
		text  string
		count uint64
	}{
		"no counts":         {plain(nil), 0},
		"every count is 0":  {plain(make([]byte, mostCounts)), 0},
		"all zeros at once": {plain(appendCount(nil, -mostCounts)), 0},
		"the longest":       {plain(bytes.Repeat(long, mostCounts)), 0},
		"the longest text":  {base64.StdEncoding.EncodeToString(whole), 2},
	} {
		h := New()
		if err := new(Decoder).Merge(h, c.text); err != nil || h.Count() != c.count {
			t.Errorf("%s: %d values, %v, want %d", name, h.Count(), err, c.count)
		}
	}
}

// Merging is not to lose a value quietly.
func TestMergeEncodedLosesNothing(t *testing.T) {
	h := New()
	h.RecordN(5, math.MaxInt64-1)
	if err := h.MergeEncoded(of(5, 7).Encode()); err == nil || !strings.Contains(err.Error(), "more than 2^63") {
		t.Errorf("a sum beyond 2^63: %v", err)
	}
	other := hdrhistogram.New(1, int64(24*time.Hour), 3)
	_ = other.RecordValue(int64(20 * time.Hour))
	if err := New().MergeEncoded(encodeOther(other)); err == nil || !strings.Contains(err.Error(), "1 of its values") {
		t.Errorf("a value beyond the range: %v", err)
	}
}

// Whatever the counts are, a histogram holds as many values as it says.
func FuzzDecoder(f *testing.F) {
	for _, h := range []*Histogram{of(5, 7, 8, 2000), of(Lowest, Highest), random(1e6, 20)} {
		p := hdrhistogram.NewPacked(int64(Lowest), int64(Highest), Digits)
		p.MergeFrom(h.h)
		f.Add(appendCounts(nil, p))
	}
	h := New()
	f.Fuzz(func(t *testing.T, counts []byte) {
		h.Reset()
		err := eachCount(counts, h.add)
		var sum uint64
		for _, b := range h.Buckets() {
			sum += b.Count
		}
		if sum != h.Count() || sum > math.MaxInt64 {
			t.Errorf("%d values in buckets, %d in all, %v", sum, h.Count(), err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	text := random(1e6, 1100).Encode()
	h := New()
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = h.MergeEncoded(text)
		}
	})
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		var d Decoder
		for b.Loop() {
			_ = d.Merge(h, text)
		}
	})
}

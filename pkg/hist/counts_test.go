package hist

import "testing"

// EncodeCounts is the inverse of Counts, byte for byte.
func TestCounts(t *testing.T) {
	var d Decoder
	var e Encoder
	for name, h := range some() {
		s := h.Encode()
		counts, err := d.Counts(s)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case s == "" && counts != nil:
			t.Errorf("%s: an empty histogram has counts", name)
		case s != "" && e.EncodeCounts(counts) != s:
			t.Errorf("%s: another text", name)
		}
	}
	if _, err := d.Counts("HISTFAAAAA=="); err == nil {
		t.Error("a text that is cut off has counts")
	}
}

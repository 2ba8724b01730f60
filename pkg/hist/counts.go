package hist

import (
	"bytes"
	"encoding/binary"
)

// Counts returns the counts of an encoded histogram without their compression, and nil for "".
// Many histograms compress together to half of their size alone. EncodeCounts is the inverse.
func (d *Decoder) Counts(s string) ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	counts, err := d.counts(s)
	if err != nil {
		return nil, notEncoded(err)
	}
	return bytes.Clone(counts), nil
}

// EncodeCounts is the histogram with these counts, as Encode writes it. It does not check the
// counts; a Decoder does.
func (e *Encoder) EncodeCounts(counts []byte) string {
	e.prepare()
	e.plain = append(appendHeader(e.plain[:0]), counts...)
	binary.BigEndian.PutUint32(e.plain[4:], uint32(len(counts)))
	return e.compress()
}

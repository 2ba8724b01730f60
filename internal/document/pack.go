package document

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// The form of the data, before gzip and base64: the JSON documents, a line each, in which the byte
// taken replaces a histogram with its quotes; the byte end; for each taken histogram the length of
// its counts, as a uvarint, and the counts. JSON contains neither byte.
const (
	taken = 1
	end   = 0
)

// histogram is how the text of a histogram begins, with its quote.
const histogram = `"HISTF`

// PackPage returns the reports as base64, for an HTML page. The histograms of a report are compressed one by
// one, which is most of its size; here they are compressed together.
func PackPage(reports ...*takt.Report) (string, error) {
	var docs [][]byte
	for _, r := range reports {
		text, err := Encode(r)
		if err != nil {
			return "", err
		}
		docs = append(docs, text)
	}
	return packJSON(bytes.Join(docs, []byte("\n")))
}

func packJSON(text []byte) (string, error) {
	rest, counts := takeHistograms(text)
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // fails only for unknown levels
	for _, part := range [][]byte{rest, {end}, counts} {
		if _, err := z.Write(part); err != nil {
			return "", err
		}
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// takeHistograms separates the histograms from the text. A histogram that would not be the same
// again, byte for byte, stays in the text.
func takeHistograms(text []byte) (rest, counts []byte) {
	var d hist.Decoder
	var e hist.Encoder
	for {
		at := bytes.Index(text, []byte(histogram))
		if at < 0 {
			return append(rest, text...), counts
		}
		length := bytes.IndexByte(text[at+1:], '"')
		if length < 0 {
			return append(rest, text...), counts
		}
		s := string(text[at+1 : at+1+length])
		next := at + 1 + length + 1
		if c, err := d.Counts(s); err == nil && e.EncodeCounts(c) == s {
			rest = append(append(rest, text[:at]...), taken)
			counts = append(binary.AppendUvarint(counts, uint64(len(c))), c...)
		} else {
			rest = append(rest, text[:next]...)
		}
		text = text[next:]
	}
}

// errDamaged says that the data of a page were changed.
var errDamaged = errors.New("the data of the page are damaged; take the page as takt wrote it")

// unpack is the inverse of packJSON. Its memory is bounded: the text has at most
// audit.MaxDocument bytes.
func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	if err != nil {
		return nil, errDamaged
	}
	all, err := io.ReadAll(io.LimitReader(z, audit.MaxDocument+1))
	switch {
	case err != nil:
		return nil, errDamaged
	case len(all) > audit.MaxDocument:
		return nil, tooLarge()
	}
	text, counts, found := bytes.Cut(all, []byte{end})
	if !found {
		return nil, errDamaged
	}
	return putHistograms(text, counts)
}

func tooLarge() error {
	return fmt.Errorf("the data of the page are longer than %d MiB, and no report is", audit.MaxDocument>>20)
}

// putHistograms is the inverse of takeHistograms.
func putHistograms(text, counts []byte) (all []byte, err error) {
	var e hist.Encoder
	for {
		before, after, found := bytes.Cut(text, []byte{taken})
		all = append(all, before...)
		if len(all) > audit.MaxDocument {
			return nil, tooLarge()
		}
		if !found {
			return all, nil
		}
		n, size := binary.Uvarint(counts)
		if size <= 0 || n > uint64(len(counts)-size) {
			return nil, errDamaged
		}
		counts = counts[size:]
		all = append(append(append(all, '"'), e.EncodeCounts(counts[:n])...), '"')
		text, counts = after, counts[n:]
	}
}

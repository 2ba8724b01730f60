package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/taktload/takt/pkg/takt"
)

// The limits of input. A report with 1200 intervals has 2 to 3 MB at 1000/s, 6 to 11 MB at 10 000/s, 12 to
// 23 MB at 100 000/s, and 20 000 values; a value of one byte takes up to 140 in memory.
const (
	MaxDocument = 64 << 20 // largest size of one report in bytes
	maxFile     = 1 << 30  // largest size of all reports of a file in bytes
	maxValues   = 1 << 19  // largest number of values of one report

	// maxRest and maxShardRest are the largest sizes of what is not histograms and times, in bytes: whoever merges
	// reports keeps it of all. A whole has 400 bytes for each of up to 10 000 shards, a scenario 10 KB a step.
	maxRest      = 16 << 20
	maxShardRest = 4 << 20

	// maxWarnings is the largest number of warnings of a shard: a merge shows those of all.
	maxWarnings = 100
)

// Documents reads a sequence of JSON documents in bounded memory.
type Documents struct {
	in      bounded
	decoder *json.Decoder
}

// NewDocuments reads documents of r.
func NewDocuments(r io.Reader) *Documents { return newDocuments(r, MaxDocument, maxFile) }

func newDocuments(r io.Reader, one, all int) *Documents {
	d := &Documents{in: bounded{in: r, mostOne: one, all: all, mostAll: all}}
	d.decoder = json.NewDecoder(&d.in)
	return d
}

// Next returns the next document, and io.EOF after the last.
func (d *Documents) Next() ([]byte, error) {
	d.in.one = d.in.mostOne
	var text json.RawMessage
	err := d.decoder.Decode(&text)
	var large *TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, err
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if n := values(text); n > maxValues {
		return nil, &TooLargeError{fmt.Sprintf("it has %d values, and no report has more than %d", n, maxValues)}
	}
	return text, nil
}

// TooLargeError says that the input is larger than any report of takt.
type TooLargeError struct{ reason string }

// Error implements error.
func (e *TooLargeError) Error() string { return e.reason }

// bounded fails if a document, or all documents together, are too long.
type bounded struct {
	in               io.Reader
	one, all         int // remaining bytes of the document and of the input
	mostOne, mostAll int
}

func (b *bounded) Read(p []byte) (n int, err error) {
	switch {
	case b.one <= 0:
		return 0, &TooLargeError{fmt.Sprintf("it is longer than %d MiB, and no report is", b.mostOne>>20)}
	case b.all <= 0:
		return 0, &TooLargeError{fmt.Sprintf("the file is longer than %d MiB; give the reports in several files", b.mostAll>>20)}
	}
	n, err = b.in.Read(p[:min(len(p), b.one, b.all)])
	b.one -= n
	b.all -= n
	return n, err
}

// rest checks the size of what a report has besides its histograms and times.
func (c *checker) rest() {
	r, most := *c.r, maxRest
	if takt.IsShard(r.Schedule.Shard) {
		most = maxShardRest
		if n := len(r.Warnings); n > maxWarnings {
			c.fault("warnings are %d, more than %d of a shard", n, maxWarnings)
		}
	}
	r.Latency, r.Intervals, r.ServerSeconds = nil, nil, nil
	if text, err := json.Marshal(&r); err == nil && len(text) > most {
		c.fault("it has %d bytes besides its latencies and intervals, more than %d", len(text), most)
	}
}

// values is an upper limit of the number of values in a JSON document.
func values(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

package trace

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxFaults limits the stored bad lines of each file; takt counts all of them.
const maxFaults = 10

// maxExcerpt limits the stored text of a bad line, in bytes.
const maxExcerpt = 160

// Fault is a line that could not be used.
type Fault struct {
	File  string
	Line  int
	Cause error
	Text  string // the beginning of the line
}

// Error is file:line, the cause, and the beginning of the line.
func (f *Fault) Error() string {
	if f.Text == "" {
		return fmt.Sprintf("%s:%d: %v", f.File, f.Line, f.Cause)
	}
	return fmt.Sprintf("%s:%d: %v: %q", f.File, f.Line, f.Cause, f.Text)
}

// Counts says what became of the lines: Lines = Records + NoRequest + Bad. It counts no
// blank lines and comments.
type Counts struct {
	Lines     uint64
	Records   uint64
	NoRequest uint64  // lines without an HTTP request: "-", bytes of a TLS handshake
	Bad       uint64  // lines that takt cannot parse
	Faults    []Fault // the first 10 bad lines of each file

	Untimed uint64            // records from rows of the load format with bad times, see Options.NoTimes
	Headers map[string]uint64 // header lines that the requests lack, by name
}

// Add adds the counts of another file.
func (c *Counts) Add(o Counts) {
	c.Lines += o.Lines
	c.Records += o.Records
	c.NoRequest += o.NoRequest
	c.Bad += o.Bad
	c.Faults = append(c.Faults, o.Faults...)
	c.Untimed += o.Untimed
	if len(o.Headers) == 0 {
		return
	}
	sum := maps.Clone(o.Headers)
	for name, n := range c.Headers {
		sum[name] += n
	}
	c.Headers = sum
}

// LeftOut says in words what the records lack although the log has it; "": nothing.
func (c *Counts) LeftOut() (text string) {
	if c.Untimed > 0 {
		text += fmt.Sprintf("; the times of %d are not understood, and not needed", c.Untimed)
	}
	if len(c.Headers) > 0 {
		text += "; headers left out: " + c.HeadersText()
	}
	return text
}

// HeadersText lists Headers: cookie 2, referer 1.
func (c *Counts) HeadersText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, c.Headers[name]))
	}
	return strings.Join(parts, ", ")
}

// Options says how to read a log.
type Options struct {
	// Format is auto (also ""), a name that Formats lists, an nginx log_format (it
	// has a $), an Apache LogFormat (it has a %), or a format of HAProxy or Envoy.
	Format string
	// Fields is the field map of the format json, such as
	// "end=ts,latency=duration:ms,uri=req.path"; see docs/traces.md. "": common names.
	Fields string
	// Zone is the zone of stamps without one; nil: local.
	Zone *time.Location
	// NoTimes says that the times of requests are not needed. A row of the load format with
	// bad times is then a record without times, instead of a bad line.
	NoTimes bool

	guessed bool    // the format was detected, not given
	columns []byte  // for w3c: the line #Fields before the part that is read
	counts  *Counts // where the decoder counts what it leaves out of a record
}

// errNoRequest is the cause of Counts.NoRequest.
var errNoRequest = errors.New("no HTTP request")

// readError is an error of reading, not of a line: it ends the log.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

func isReadError(err error) bool {
	var broken readError
	return errors.As(err, &broken)
}

// decoder parses one format. next fills rec, which the caller has reset. It returns nil,
// io.EOF, errNoRequest, a readError, or what is wrong with the line at place. Only io.EOF
// and a readError end the log.
type decoder interface {
	next(rec *Record) error
	place() (line int, text []byte)
}

// Reader returns the records of one file, in the order of the file.
type Reader struct {
	name   string
	format string
	dec    decoder
	counts Counts
	close  func()

	guessed bool   // the format was detected
	columns []byte // for w3c: the last line #Fields of the beginning
}

// NewReader reads a log, which may be compressed with gzip, zstd or bzip2. name is the file
// name in errors. It reads the beginning at once, to detect the format auto. An error is
// about Options or the beginning.
func NewReader(name string, r io.Reader, o Options) (*Reader, error) {
	in, stop, err := decompress(r)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w; check the file", name, err)
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Format == "" || o.Format == auto {
		if o.Format, err = detect(in, o); err != nil {
			stop()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		o.guessed = o.Fields == ""
	}
	rd := &Reader{name: name, format: o.Format, close: stop, guessed: o.guessed, columns: lastFields(in)}
	o.counts = &rd.counts
	if rd.dec, err = open(in, o); err != nil {
		stop()
		return nil, err
	}
	return rd, nil
}

// Format is the format in use, never auto.
func (r *Reader) Format() string { return r.format }

// Counts says what became of the lines so far.
func (r *Reader) Counts() Counts { return r.counts }

// Close frees the decompressor. It does not close the r of NewReader.
func (r *Reader) Close() { r.close() }

// Next implements Stream. It counts and skips bad lines; an error other than io.EOF is an
// error of reading.
func (r *Reader) Next(rec *Record) error {
	for {
		rec.reset()
		err := r.dec.next(rec)
		if err == nil {
			r.counts.Lines++
			r.counts.Records++
			rec.File = r.name
			rec.Line, _ = r.dec.place()
			return nil
		}
		if err := r.note(err); err != nil {
			return err
		}
	}
}

// note counts a line without a record, or returns the error that ends the log.
func (r *Reader) note(err error) error {
	switch {
	case err == io.EOF:
		return err
	case isReadError(err):
		return fmt.Errorf("cannot read %s: %w; check the file", r.name, err)
	case errors.Is(err, errNoRequest):
		r.counts.NoRequest++
	default:
		r.counts.Bad++
		if len(r.counts.Faults) < maxFaults {
			line, text := r.dec.place()
			r.counts.Faults = append(r.counts.Faults, Fault{r.name, line, err, string(text[:min(len(text), maxExcerpt)])})
		}
	}
	r.counts.Lines++
	return nil
}

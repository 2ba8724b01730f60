// Package reader reads logs: files to records. A [Reader] reads one file of any format, compressed or
// not, in its order. [Settings] has the flags of all commands that read logs, and opens or follows the
// logs that they name. What is wrong with a log as a whole, such as gaps and steps of its clock, are
// its faults.
package reader

import (
	"fmt"
	"io"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/formats"
	"github.com/taktload/takt/internal/trace/parse"
)

// Counts says what became of the lines: each is a record, or in Left a line without a request or a bad
// line. It counts no blank lines and comments.
type Counts struct {
	Lines   uint64
	Records uint64
	Left    trace.Left // what became of the other lines, and what the records lack
	Ends    Ends       // of the last file
}

// NoRequest counts the lines without a request.
func (c *Counts) NoRequest() uint64 { return c.Left.Count(trace.NoRequest) }

// Bad counts the lines that takt cannot read.
func (c *Counts) Bad() uint64 { return c.Left.Count(trace.Bad) }

// Add adds the counts of another file.
func (c *Counts) Add(o Counts) {
	c.Lines += o.Lines
	c.Records += o.Records
	c.Ends = o.Ends
	c.Left.Merge(&o.Left)
}

// Reader returns the records of one file, in the order of the file.
type Reader struct {
	name   string
	format string
	guess  Guess
	dec    formats.Decoder
	counts Counts
	ends   Ends
	close  func()
	o      Options

	guessed bool   // the format was detected
	columns []byte // for w3c: the last line #Fields of the beginning
}

// New reads a log, which may be compressed with gzip, zstd or bzip2. name is the file
// name in errors. It reads the beginning at once, to detect the format auto. An error is
// about Options or the beginning.
func New(name string, r io.Reader, o Options) (*Reader, error) {
	in, stop, err := decompress(r)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w; check the file", name, err)
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	guess := Guess{Format: o.Format, Given: true}
	if o.Format == "" || o.Format == autoFormat {
		if guess, err = detect(in, o); err != nil {
			stop()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		o.Format, o.guessed = guess.Format, o.Fields == ""
	}
	rd := &Reader{name: name, format: o.Format, guess: guess, close: stop, o: o, guessed: o.guessed, columns: formats.LastFields(in)}
	if rd.dec, err = open(in, o, &rd.counts.Left); err != nil {
		stop()
		return nil, err
	}
	return rd, nil
}

// Name is the name that New got.
func (r *Reader) Name() string { return r.name }

// Format is the format in use, never auto.
func (r *Reader) Format() string { return r.format }

// Guess says what the log was taken for, and how sure that is.
func (r *Reader) Guess() Guess { return r.guess }

// more returns o with the format and the columns of r, to read more of the same log.
func (r *Reader) more(o Options) Options {
	if r.format != formats.Nothing {
		o.Format, o.guessed, o.columns = r.format, r.guessed, r.columns
	}
	return o
}

// Counts says what became of the lines so far.
func (r *Reader) Counts() Counts {
	c := r.counts
	c.Left = r.counts.Left.Copy()
	c.Ends = r.ends
	if d, ok := r.dec.(*lineDecoder); ok {
		c.Ends.Holes = d.holes
	}
	return c
}

// Close frees the decompressor. It does not close the r of New.
func (r *Reader) Close() { r.close() }

// Next implements Stream. It counts and skips bad lines; an error other than io.EOF is an
// error of reading.
func (r *Reader) Next(rec *trace.Record) error {
	for {
		rec.Reset()
		err := r.dec.Next(rec)
		if err == nil {
			r.counts.Lines++
			r.counts.Records++
			rec.File = r.name
			rec.Line, _ = r.dec.Place()
			r.counts.Left.At(r.name, rec.Line)
			return nil
		}
		if err := r.note(err); err != nil {
			return err
		}
	}
}

// note counts a line without a record, or returns the error that ends the log.
func (r *Reader) note(err error) error {
	line, text := r.dec.Place()
	switch {
	case err == io.EOF:
		return err
	case formats.IsReadError(err):
		return fmt.Errorf("cannot read %s: %w; check the file", r.name, err)
	case parse.IsNoRequest(err):
		r.counts.Left.Add(trace.NoRequest, err.Error(), r.name, line)
	default:
		r.noteBad(err)
		r.counts.Left.AddText(trace.Bad, err.Error(), r.name, line, text)
	}
	r.counts.Left.At(r.name, line) // what a line lacks that is left out as a whole
	r.counts.Lines++
	return nil
}

package reader

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/formats"
	"github.com/taktload/takt/internal/trace/parse"
)

var errDamaged = errors.New("the compressed file is cut short or damaged: nothing behind this line can be read")

// lines cuts a text into lines.
type lines struct {
	in    *bufio.Reader
	n     int    // number of the last line, from 1
	text  []byte // text of the last line
	ended bool
	holes uint64 // lines with NUL bytes before them
	open  bool   // the last line has no line end
}

// Place is the number and the text of the last line.
func (l *lines) Place() (int, []byte) { return l.n, l.text }

// next returns the next line that is not blank, without its line end. The line is valid
// until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.cut()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
	}
}

func (l *lines) cut() ([]byte, error) {
	l.text = nil
	if l.ended {
		return nil, io.EOF
	}
	line, long, err := formats.CutLine(l.in)
	l.n++
	l.ended = err != nil
	l.open = err == io.EOF && (long || len(line) > 0)
	switch {
	case err != nil && err != io.EOF:
		return nil, err
	case long:
		return nil, formats.ErrLongLine
	case err == io.EOF && len(line) == 0:
		return nil, err
	}
	if len(line) > 0 && line[0] == 0 {
		line = withoutNULs(line)
		l.holes++
	}
	l.text = line
	return line, nil
}

// withoutNULs removes the NUL bytes before a line: a server that goes on writing after its log was
// truncated leaves a hole.
func withoutNULs(line []byte) []byte { return bytes.TrimLeft(line, "\x00") }

// lineDecoder is the decoder for all formats with one request per line.
type lineDecoder struct {
	lines
	parser formats.Parser
	filler parse.Line
	headed bool // see Format
	head   head
}

func newLineDecoder(in *bufio.Reader, f formats.Format, o Options, left *trace.Left) (*lineDecoder, error) {
	p, err := f.Line(formats.Hints{Fields: o.Fields, Guessed: o.guessed, Columns: o.columns})
	if err != nil {
		return nil, err
	}
	return &lineDecoder{lines: lines{in: in}, parser: p, filler: parse.NewLine(o.Zone, o.NoTimes, left), headed: f.Headed}, nil
}

// Next implements Decoder.
func (d *lineDecoder) Next(rec *trace.Record) error {
	for {
		line, err := d.lines.next()
		if err != nil {
			return err
		}
		if line = unblanked(line); d.headed {
			line = unblanked(d.head.behind(line))
		}
		d.filler.Begin(rec)
		err = d.parser.Parse(line, &d.filler)
		if err != nil && d.headed && d.within(rec, line) {
			return nil
		}
		if err == nil || err != parse.ErrComment && line[0] != '#' { // a # that fits the format is none of a comment
			return err
		}
	}
}

// within reports whether a line is an object with the request inside, as collectors of logs write it, and reads that.
func (d *lineDecoder) within(rec *trace.Record, line []byte) bool {
	inner := d.head.message(line)
	if inner == nil {
		return false
	}
	rec.Reset()
	d.filler.Begin(rec)
	return d.parser.Parse(inner, &d.filler) == nil
}

// unblanked is a line without blanks before it.
func unblanked(line []byte) []byte {
	if len(line) > 0 && line[0] == ' ' {
		return bytes.TrimLeft(line, " ")
	}
	return line
}

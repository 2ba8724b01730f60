package formats

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strconv"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/fill"
)

// csvDecoder reads JTL in CSV. The first line has the names of the columns.
type csvDecoder struct {
	in         *csv.Reader
	columns    map[string]int // by name
	values     []jtlColumn
	row, ahead csvRow // ahead is the one after row
	line       int
	filler     fill.Line
	ended      bool
}

// csvRow is a row, or the error that came instead.
type csvRow struct {
	cells []string
	line  int
	err   error
}

func jtlCSV(in *bufio.Reader, f fill.Line) Decoder {
	d := &csvDecoder{in: csv.NewReader(in), values: jtlColumns(), filler: f}
	d.in.ReuseRecord, d.in.FieldsPerRecord, d.in.LazyQuotes = true, -1, true
	return d
}

func isJTL(first []byte) bool {
	return bytes.Contains(first, []byte("timeStamp")) && bytes.Contains(first, []byte("elapsed,"))
}

// Place is the line of the last row.
func (d *csvDecoder) Place() (int, []byte) { return d.line, nil }

// Next implements Decoder.
func (d *csvDecoder) Next(rec *trace.Record) error {
	if d.columns == nil {
		if err := d.head(); err != nil {
			return err
		}
		d.read(&d.ahead)
	}
	d.row, d.ahead = d.ahead, d.row
	d.read(&d.ahead)
	d.line = d.row.line
	if d.row.err != nil {
		return d.row.err
	}
	if d.outer() {
		return fill.ErrNoRequest
	}
	d.filler.Begin(rec)
	return fillJTL(&d.filler, d.values, func(c *jtlColumn) string {
		if _, is := d.columns[c.name]; c.name == "URL" && !is {
			return d.cell(&d.row, "label")
		}
		return d.cell(&d.row, c.name)
	})
}

// cell is the value of a column, or "" if the row does not have it.
func (d *csvDecoder) cell(row *csvRow, name string) string {
	if i, is := d.columns[name]; is && i < len(row.cells) {
		return row.cells[i]
	}
	return ""
}

// outer reports whether the row is a sample that contains others. JMeter writes the inner
// samples after it, with the labels LABEL-0, LABEL-1 …; they begin before it ends.
func (d *csvDecoder) outer() bool {
	if d.ahead.err != nil || d.cell(&d.ahead, "label") != d.cell(&d.row, "label")+"-0" {
		return false
	}
	number := func(row *csvRow, name string) int64 {
		n, _ := strconv.ParseInt(d.cell(row, name), 10, 64) // dates count as 0, so that the check of times passes
		return n
	}
	begin, first := number(&d.row, "timeStamp"), number(&d.ahead, "timeStamp")
	return first >= begin && first-begin <= number(&d.row, "elapsed")
}

func (d *csvDecoder) read(row *csvRow) {
	row.cells, row.err = row.cells[:0], io.EOF
	if d.ended {
		return
	}
	cells, err := d.in.Read()
	row.cells, row.err = append(row.cells, cells...), err
	var parse *csv.ParseError
	switch {
	case err == nil:
		row.line, _ = d.in.FieldPos(0)
	case errors.As(err, &parse):
		row.line = parse.StartLine
	case err != io.EOF:
		d.ended = true
	}
}

func (d *csvDecoder) head() error {
	d.read(&d.row)
	if d.line = d.row.line; d.row.err != nil {
		return d.row.err
	}
	d.columns = map[string]int{}
	for i, name := range d.row.cells {
		d.columns[string(files.TextOf([]byte(name)))] = i
	}
	for _, name := range []string{"timeStamp", "elapsed", "responseCode"} {
		if _, ok := d.columns[name]; !ok {
			d.ended = true
			return errCSV
		}
	}
	return nil
}

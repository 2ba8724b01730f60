package formats

import (
	"bufio"
	"bytes"
	"strconv"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// jtlDecoder reads JTL in CSV.
type jtlDecoder struct {
	table
	values     []jtlColumn
	row, ahead tableRow // ahead is the one after row
	filler     parse.Line
}

// jtlNeeds are the columns without which a table is no JTL.
func jtlNeeds() []string { return []string{"timeStamp", "elapsed", "responseCode"} }

func jtlCSV(in *bufio.Reader, f parse.Line) Decoder {
	return &jtlDecoder{table: table{in: in, needs: jtlNeeds()}, values: jtlColumns(), filler: f}
}

func isJTL(first []byte) bool {
	return bytes.Contains(first, []byte("timeStamp")) && bytes.Contains(first, []byte("elapsed")) && separatorOf(first) != 0
}

// Next implements Decoder.
func (d *jtlDecoder) Next(rec *trace.Record) error {
	if d.columns == nil {
		err := d.head()
		d.read(&d.ahead) // without a head, there are no rows
		if err != nil {
			return err
		}
	}
	d.row, d.ahead = d.ahead, d.row
	d.read(&d.ahead)
	d.line = d.row.line
	if d.row.err != nil {
		return d.row.err
	}
	if d.outer() {
		return outerSample
	}
	d.filler.Begin(rec)
	return fillJTL(&d.filler, d.values, func(c *jtlColumn) string {
		if c.name == "URL" && !d.has("URL") {
			return d.cell(&d.row, "label")
		}
		return d.cell(&d.row, c.name)
	})
}

// outer reports whether the row is a sample that contains others. JMeter writes the inner
// samples after it, with the labels LABEL-0, LABEL-1 …; they begin before it ends.
func (d *jtlDecoder) outer() bool {
	if d.ahead.err != nil || d.cell(&d.ahead, "label") != d.cell(&d.row, "label")+"-0" {
		return false
	}
	number := func(row *tableRow, name string) int64 {
		n, _ := strconv.ParseInt(d.cell(row, name), 10, 64) // dates count as 0, so that the check of times passes
		return n
	}
	begin, first := number(&d.row, "timeStamp"), number(&d.ahead, "timeStamp")
	return first >= begin && first-begin <= number(&d.row, "elapsed")
}

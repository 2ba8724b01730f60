package trace

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"time"
)

// csvDecoder reads JTL in CSV. Its first line has the names of the columns.
type csvDecoder struct {
	in      *csv.Reader
	columns map[string]int
	row     []string
	line    int
	filler  filler
	ended   bool
}

func newCSVDecoder(in *bufio.Reader, zone *time.Location) *csvDecoder {
	d := &csvDecoder{in: csv.NewReader(in), filler: filler{clock: clock{zone: zone}}}
	d.in.ReuseRecord, d.in.FieldsPerRecord, d.in.LazyQuotes = true, -1, true
	return d
}

func (d *csvDecoder) place() (int, []byte) { return d.line, nil }

func (d *csvDecoder) next(rec *Record) error {
	if d.columns == nil {
		if err := d.head(); err != nil {
			return err
		}
	}
	if err := d.read(); err != nil {
		return err
	}
	d.filler.begin(rec)
	return fillJTL(&d.filler, func(name string) []byte {
		i, is := d.columns[name]
		if name == "URL" && !is {
			i, is = d.columns["label"]
		}
		if !is || i >= len(d.row) {
			return nil
		}
		return []byte(d.row[i])
	})
}

func (d *csvDecoder) read() (err error) {
	if d.ended {
		return io.EOF
	}
	d.row, err = d.in.Read()
	var parse *csv.ParseError
	switch {
	case err == nil:
		d.line, _ = d.in.FieldPos(0)
	case errors.As(err, &parse):
		d.line = parse.StartLine
	case err != io.EOF:
		d.ended = true
	}
	return err
}

func (d *csvDecoder) head() error {
	if err := d.read(); err != nil {
		return err
	}
	d.columns = map[string]int{}
	for i, name := range d.row {
		d.columns[string(bytes.TrimPrefix([]byte(name), []byte("\ufeff")))] = i
	}
	for _, name := range []string{"timeStamp", "elapsed", "responseCode"} {
		if _, ok := d.columns[name]; !ok {
			d.ended = true
			return errCSV
		}
	}
	return nil
}

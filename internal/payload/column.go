package payload

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// column gives field n, from 1, of every line, by the rules of encoding/csv. But a
// record is one line and a line is one record, also an empty one, which
// encoding/csv would skip: so line i is the same with and without a field.
func (l *Lines) column(n int) (*Lines, error) {
	in := csv.NewReader(bytes.NewReader(l.text))
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	col := &Lines{name: l.name, field: n, skipped: l.skipped, starts: make([]uint32, 1, l.Len()+1)}
	for i := range l.Len() {
		record, err := in.Read()
		if err != nil && err != io.EOF {
			return nil, l.notCSV(i, err)
		}
		if err == io.EOF || lineOf(in) != i+1 {
			record = nil // encoding/csv skipped the line, which is empty
		}
		if slices.ContainsFunc(record, func(f string) bool { return strings.Contains(f, "\n") }) {
			return nil, l.fault(i, errors.New("a quoted field goes on in the next line; put every record on one line"))
		}
		if len(record) < n {
			return nil, l.fault(i, fmt.Errorf("no field %d in a line of %d; fields are counted from 1 and separated by commas", n, len(record)))
		}
		col.add([]byte(record[n-1]))
	}
	return col, nil
}

// lineOf is the line, from 1, on which the record begins that was read last.
func lineOf(in *csv.Reader) int {
	line, _ := in.FieldPos(0)
	return line
}

// notCSV is the error of the record that was to be line i.
func (l *Lines) notCSV(i int, err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		i, err = parse.StartLine-1, parse.Err
	}
	return l.fault(i, fmt.Errorf("not CSV: %w; write a field that holds quotes as \"a \"\"b\"\" c\"", err))
}

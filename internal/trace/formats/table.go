package formats

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// table reads comma-separated values, or those with semicolons, tabs or bars between them. The first line that is
// neither blank nor a comment has the names of the columns.
type table struct {
	in      *bufio.Reader
	needs   []string // columns without which the file is refused
	rows    *csv.Reader
	columns map[string]int // by name; nil: the head has not been read
	before  int            // lines up to the head
	line    int
	ended   bool
}

// tableRow is a row, or the error that came instead.
type tableRow struct {
	cells []string
	line  int
	err   error
}

// separatorOf is the sign between the names of a head; 0: it has none.
func separatorOf(head []byte) (sign rune) {
	most := 0
	for _, c := range ",\t;|" {
		if n := bytes.Count(head, []byte(string(c))); n > most {
			sign, most = c, n
		}
	}
	return sign
}

// Place is the line of the last row.
func (t *table) Place() (int, []byte) { return t.line, nil }

func (t *table) has(name string) bool {
	_, is := t.columns[name]
	return is
}

// cell is the value of a column, or "" if the row does not have it.
func (t *table) cell(row *tableRow, name string) string {
	if i, is := t.columns[name]; is && i < len(row.cells) {
		return row.cells[i]
	}
	return ""
}

func (t *table) read(row *tableRow) {
	row.cells, row.err = row.cells[:0], io.EOF
	if t.ended {
		return
	}
	cells, err := t.rows.Read()
	row.cells, row.err = append(row.cells, cells...), err
	var parse *csv.ParseError
	switch {
	case err == nil:
		row.line, _ = t.rows.FieldPos(0)
		row.line += t.before
	case errors.As(err, &parse):
		row.line = parse.StartLine + t.before
	case err != io.EOF:
		t.ended = true
	}
}

// head reads the names of the columns.
func (t *table) head() error {
	names, err := t.names()
	t.line = t.before
	if err != nil {
		return err
	}
	sign := separatorOf(names)
	if sign == 0 {
		sign = ','
	}
	t.columns = map[string]int{}
	first := csv.NewReader(bytes.NewReader(names))
	first.Comma, first.LazyQuotes = sign, true
	cells, _ := first.Read() // of a head that is none the columns are missing
	for i, name := range cells {
		t.columns[strings.TrimSpace(name)] = i
	}
	t.rows = csv.NewReader(t.in)
	t.rows.Comma, t.rows.ReuseRecord, t.rows.FieldsPerRecord, t.rows.LazyQuotes = sign, true, -1, true
	for _, name := range t.needs {
		if !t.has(name) {
			t.ended = true
			return fmt.Errorf("no first line with the names %s", strings.Join(t.needs, ", "))
		}
	}
	return nil
}

// names is the first line that is neither blank nor a comment.
func (t *table) names() ([]byte, error) {
	for {
		line, long, err := CutLine(t.in)
		t.before++
		if long && (err == nil || err == io.EOF) {
			err = ErrLongLine // its names are not known
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' && (err == nil || err == io.EOF) {
			return bytes.Clone(line), nil
		}
		if err != nil {
			t.ended, t.columns = true, map[string]int{}
			return nil, err
		}
	}
}

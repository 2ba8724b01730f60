package payload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func all(l *Lines) []string {
	var lines []string
	for i := range l.Len() {
		lines = append(lines, string(l.At(uint64(i))))
	}
	return lines
}

func TestReadLines(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"a", []string{"a"}},
		{"a\n", []string{"a"}},
		{"a\r\n", []string{"a"}},
		{"a\r", []string{"a"}},
		{"a\nbc\n", []string{"a", "bc"}},
		{"a\nbc", []string{"a", "bc"}},
		{"one\r\ntwo\nthree\r\n", []string{"one", "two", "three"}},
		{"\n", []string{""}},
		{"\r\n", []string{""}},
		{"a\n\n\nb\n\n", []string{"a", "", "", "b", ""}},
		{"\n\na", []string{"", "", "a"}},
		{"a\rb\n\r\r\n", []string{"a\rb", "\r"}},
		{" a \x00\n", []string{" a \x00"}},
	}
	for _, tt := range tests {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(tt.text), "bytes": iotest.OneByteReader(strings.NewReader(tt.text)),
		} {
			l, err := ReadLines("f", r)
			if err != nil || !slices.Equal(all(l), tt.want) {
				t.Errorf("%q, %s: %q, %v; want %q", tt.text, name, all(l), err, tt.want)
			}
		}
	}
}

func TestReadLinesErrors(t *testing.T) {
	broken := iotest.ErrReader(errors.New("input/output error"))
	tests := []struct {
		r    io.Reader
		want string
	}{
		{strings.NewReader(""), "f is empty; give it at least one line"},
		{strings.NewReader("12345678\n"), "f is larger than 8 bytes, the most that is held in memory; shorten it"},
		{strings.NewReader("a\nb\nc\nd"), "f has 4 lines, and at most 3 are held in memory; shorten it"},
		{io.MultiReader(strings.NewReader("a\n"), broken), "cannot read f: input/output error; check the file"},
	}
	for _, tt := range tests {
		if _, err := readLines("f", tt.r, 8, 3); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	for _, at := range []string{"1234567\n", "12345678", "a\nb\nc\n"} {
		if _, err := readLines("f", strings.NewReader(at), 8, 3); err != nil {
			t.Errorf("%q: %v, though it is no more than the bound", at, err)
		}
	}
}

func TestLinesAt(t *testing.T) {
	l, err := ReadLines("f", strings.NewReader("a\nb\nc"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[uint64]string{0: "a", 2: "c", 3: "a", 7: "b", 1<<64 - 1: "a"} { // 2⁶⁴-1 is a multiple of 3
		if got := l.At(i); string(got) != want || cap(got) != len(want) {
			t.Errorf("line %d is %q with room for %d, want %q", i, got, cap(got), want)
		}
	}
	if l.longest != 1 {
		t.Errorf("longest %d", l.longest)
	}
}

func TestColumn(t *testing.T) {
	const file = "ann,secret,1\r\n\"b \"\"o\"\" b\",\"x,y\"\n,\n\"\",z"
	for field, want := range map[int][]string{
		1: {"ann", `b "o" b`, "", ""},
		2: {"secret", "x,y", "", "z"},
	} {
		l, _ := ReadLines("f", strings.NewReader(file))
		col, err := l.column(field)
		if err != nil || !slices.Equal(all(col), want) {
			t.Errorf("field %d: %v, want %q", field, err, want)
		}
	}
}

func TestColumnErrors(t *testing.T) {
	const (
		missing = "no field 2 in a line of %d; fields are counted from 1 and separated by commas"
		notCSV  = `; write a field that holds quotes as "a ""b"" c"`
		onward  = "a quoted field goes on in the next line; put every record on one line"
	)
	tests := []struct{ file, want string }{
		{"a,b\nc\n", "f:2: " + fmt.Sprintf(missing, 1)},
		{"a,b\n\nc,d\n", "f:2: " + fmt.Sprintf(missing, 0)},
		{"\na,b", "f:1: " + fmt.Sprintf(missing, 0)},
		{"a,b\nc,d\n\n\n", "f:3: " + fmt.Sprintf(missing, 0)},
		{"\n", "f:1: " + fmt.Sprintf(missing, 0)},
		{"a,b\nc,d\"e\n", "f:2: not CSV: " + csv.ErrBareQuote.Error() + notCSV},
		{"a,b\nc,\"d\"e\n", "f:2: not CSV: " + csv.ErrQuote.Error() + notCSV},
		{"a,b\nc,\"d\ne,f\n", "f:2: not CSV: " + csv.ErrQuote.Error() + notCSV},
		{"a,b\nc,\"d\ne\"\nf,g\n", "f:2: " + onward},
		{"a,\"b\n\n\"\n", "f:1: " + onward},
	}
	for _, tt := range tests {
		l, _ := ReadLines("f", strings.NewReader(tt.file))
		if _, err := l.column(2); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v\nwant %s", tt.file, err, tt.want)
		}
	}
}

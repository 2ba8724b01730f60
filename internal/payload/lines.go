package payload

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/files"
)

// maxBytes bounds a file of lines, and what a template appends: 256 MiB.
const maxBytes = 256 << 20

// maxLines keeps the offsets of a file within 256 MiB too.
const maxLines = 64 << 20

// Lines is a text file in memory, a feeder. It is one block of text and one of
// offsets, without pointers, so that ten million lines cost the garbage collector
// nothing. It is only read, so it is safe for concurrent use.
type Lines struct {
	name    string   // of the file
	field   int      // which one of the file's lines these are, from 1; 0: whole lines
	text    []byte   // every line ends with \n
	starts  []uint32 // of the lines in text, and of the one that would come next
	longest int      // bytes of the longest line
	skipped []uint32 // numbers, from 0, of the lines of the file that are no lines of l, in their order
}

// ReadLines reads all of r, at most maxBytes and 67 108 864 lines. Lines end with
// \n or \r\n, which is no part of them; nothing is skipped, neither empty lines
// nor a head line. name is for errors.
func ReadLines(name string, r io.Reader) (*Lines, error) {
	return readLines(name, r, maxBytes, maxLines)
}

// readValues is ReadLines for values: lines of blanks alone are none, and neither is the first one that has
// more if head says so.
func readValues(name string, r io.Reader, head bool) (*Lines, error) {
	l, err := ReadLines(name, r)
	if err != nil {
		return nil, err
	}
	if l.skip(head); l.Len() == 0 {
		return nil, fmt.Errorf("%s has no line with a value; give it at least one", name)
	}
	return l, nil
}

// skip takes out the lines of blanks alone, and the head line. It moves the others together, in place.
func (l *Lines) skip(head bool) {
	all := *l
	l.text, l.starts, l.longest = all.text[:0], all.starts[:1], 0
	for i := range all.Len() {
		from, to := all.starts[i], all.starts[i+1]-1 // before add overwrites them
		line := all.text[from:to]
		blank := len(bytes.TrimSpace(line)) == 0
		if blank || head {
			l.skipped, head = append(l.skipped, uint32(i)), head && blank
			continue
		}
		l.add(line)
	}
}

// number is the number of line i in its file, from 1.
func (l *Lines) number(i int) int {
	for _, skipped := range l.skipped {
		if int(skipped) > i {
			break
		}
		i++
	}
	return i + 1
}

func readLines(name string, r io.Reader, maxBytes, maxLines int) (*Lines, error) {
	// The \n may be missing at the end of a file; to append it later could copy all.
	ended := io.MultiReader(io.LimitReader(files.Text(r), int64(maxBytes)+1), strings.NewReader("\n"))
	text, err := io.ReadAll(ended)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w; check the file", name, err)
	}
	if len(text)-1 > maxBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes, the most that is held in memory; shorten it", name, maxBytes)
	}
	if len(text) == 1 {
		return nil, fmt.Errorf("%s is empty; give it at least one line", name)
	}
	if bytes.HasSuffix(text, []byte("\n\n")) {
		text = text[:len(text)-1]
	}
	n := bytes.Count(text, []byte("\n"))
	if n > maxLines {
		return nil, fmt.Errorf("%s has %d lines, and at most %d are held in memory; shorten it", name, n, maxLines)
	}
	return cutLines(name, text, n), nil
}

// cutLines moves the n lines of text together, in place: a line without its \r is
// not longer than it was, so nothing is overwritten that is still to be read.
func cutLines(name string, text []byte, n int) *Lines {
	l := &Lines{name: name, text: text[:0], starts: make([]uint32, 1, n+1)}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		l.add(bytes.TrimSuffix(line, []byte("\r")))
	}
	return l
}

// add appends a line; starts has the 0 of the first one already.
func (l *Lines) add(line []byte) {
	l.text = append(append(l.text, line...), '\n')
	l.starts = append(l.starts, uint32(len(l.text)))
	l.longest = max(l.longest, len(line))
}

// Len is the number of lines, at least 1 after reading.
func (l *Lines) Len() int { return len(l.starts) - 1 }

// At is line i modulo Len, without its end. It belongs to l: do not write to it.
func (l *Lines) At(i uint64) []byte {
	i %= uint64(l.Len())
	from, to := l.starts[i], l.starts[i+1]-1
	return l.text[from:to:to]
}

// fault puts the place of line i, from 0, before an error.
func (l *Lines) fault(i int, err error) error {
	if l.field > 0 {
		return fmt.Errorf("%s:%d: field %d: %w", l.name, l.number(i), l.field, err)
	}
	return fmt.Errorf("%s:%d: %w", l.name, l.number(i), err)
}

// check gives the first line that ok refuses, and how many more there are: a file
// of a million such lines should not make a million errors.
func (l *Lines) check(ok func([]byte) error) error {
	var first error
	more := 0
	for i := range l.Len() {
		err := ok(l.At(uint64(i)))
		switch {
		case err == nil:
		case first == nil:
			first = l.fault(i, err)
		default:
			more++
		}
	}
	if more > 0 {
		return fmt.Errorf("%w; %d more lines of the file are refused", first, more)
	}
	return first
}

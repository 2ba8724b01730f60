package reader

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/formats"
)

// sampleLines limits the lines that auto looks at to detect the format, and sureLines the lines that
// say how sure that is.
const (
	sampleLines = 50
	sureLines   = 1000
)

// detect finds the format by the lines that can be read already. It waits for one line.
func detect(in *bufio.Reader, o Options) (Guess, error) {
	sample, err := beginning(in)
	if err != nil {
		return Guess{}, err
	}
	first := firstLine(sample)
	if o.Fields != "" {
		return Guess{Format: mapped(first), Given: true}, nil
	}
	if len(first) == 0 {
		return Guess{Format: formats.Nothing}, nil
	}
	if err := readable(sample); err != nil {
		return Guess{}, err
	}
	var best, next candidate
	for _, f := range formats.Table() {
		if f.Stream != nil {
			if f.Looks(first) {
				return Guess{Format: f.Name}, nil
			}
			continue
		}
		if !looks(f, sample) || f.Last && best.fit > 0 {
			continue
		}
		switch c := try(f, sample, o, sampleLines); {
		case f.Last && c.fit < c.lines:
		case c.fit > best.fit:
			best, next = c, best
		case c.fit > next.fit:
			next = c
		}
	}
	if best.fit == 0 {
		return Guess{}, fmt.Errorf("the format cannot be told from the first lines, such as %.100q%s; %s", first, closest(sample, o), advice(first))
	}
	return guessOf(best, next, sample, o), nil
}

// lookLines is the number of lines that looks sees: the formats of a log may be mixed.
const lookLines = 10

// looks reports whether one of the first lines can be of the format.
func looks(f formats.Format, sample []byte) bool {
	n := 0
	for line := range bytes.Lines(sample) {
		if line = firstLine(line); len(line) > 0 && f.Looks(served(f, line)) {
			return true
		}
		if n++; n == lookLines {
			break
		}
	}
	return false
}

// mapped is the format of a log whose field map is given, by its first line.
func mapped(first []byte) string {
	line := new(head).behind(first)
	switch {
	case len(line) == 0 || line[0] == '{':
		return "json"
	case bytes.IndexByte(line, '\t') > 0:
		return "ltsv"
	case bytes.IndexByte(line, '=') > 0:
		return "logfmt"
	}
	return "json"
}

// readable refuses contents that are not text.
func readable(sample []byte) error {
	switch {
	case bytes.HasPrefix(sample, []byte{0xff, 0xfe}), bytes.HasPrefix(sample, []byte{0xfe, 0xff}):
		return fmt.Errorf("the file is UTF-16, which takt does not read; convert it, as in iconv -f UTF-16 -t UTF-8")
	case bytes.Count(sample, []byte{0}) > len(sample)/4 && len(bytes.Trim(sample, "\x00")) > len(sample)/2:
		return fmt.Errorf("the file is not text: it has many NUL bytes; check the name of the log")
	}
	return nil
}

// served is the part of a line that the server wrote.
func served(f formats.Format, line []byte) []byte {
	if f.Headed {
		return new(head).behind(line)
	}
	return line
}

// beginning waits for the first line that is neither blank nor a comment, and returns the
// part of the log that is in memory then.
func beginning(in *bufio.Reader) ([]byte, error) {
	for n := 1; ; n = in.Buffered() + 1 {
		_, err := in.Peek(min(n, trace.MaxLine))
		sample, _ := in.Peek(in.Buffered()) // no error: the bytes are buffered
		end := bytes.LastIndexByte(sample, '\n') + 1
		if end > 0 && len(firstLine(sample[:end])) > 0 {
			return sample[:end], nil
		}
		if err != nil || len(sample) == trace.MaxLine {
			return sample, nil // reading the log will report the error
		}
	}
}

// firstLine is the first line that is neither blank nor a comment.
func firstLine(text []byte) []byte {
	for line := range bytes.Lines(files.TextOf(text)) {
		if line = bytes.TrimSpace(withoutNULs(line)); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

// candidate is a format that may be that of a log.
type candidate struct {
	format formats.Format
	fit    int  // lines of the sample that are requests in the format
	lines  int  // lines of the sample
	none   int  // of these, without a request
	timed  bool // a line has a latency
}

// try counts the first lines of the sample, up to most, that f can parse.
func try(f formats.Format, sample []byte, o Options, most int) candidate {
	c := candidate{format: f}
	o.guessed = true
	o.NoTimes = true // a load file with bad dates is still a load file
	d, err := newLineDecoder(bufio.NewReaderSize(bytes.NewReader(sample), len(sample)+1), f, o, &fill.Left{})
	if err != nil {
		return c
	}
	var rec trace.Record
	for c.lines < most {
		rec.Reset()
		err := d.Next(&rec)
		if err == io.EOF {
			return c
		}
		c.lines++
		if err == fill.ErrNoRequest {
			c.none++
		}
		if err == nil && (!f.Status || rec.Status > 0) {
			c.fit++
			c.timed = c.timed || rec.Latency != trace.Unknown
		}
	}
	return c
}

package reader

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/formats"
	"github.com/taktload/takt/internal/trace/parse"
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
	for _, f := range formats.Table() {
		if f.Stream != nil && f.Looks(first) {
			return Guess{Format: f.Name}, nil
		}
	}
	whole, _ := in.Peek(in.Buffered()) // no error: the bytes are buffered
	for _, part := range []struct {
		text []byte
		most int
	}{{sample, sampleLines}, {sample, sureLines}, {whole, sureLines}} { // a program may write many other lines when it starts, and the last line may have no end
		if best, next := compare(part.text, o, part.most); best.fit+best.idle > 0 {
			return guessOf(best, next, part.text, o), nil
		}
	}
	return Guess{}, fmt.Errorf("the format cannot be told from the first lines, such as %.100q%s; %s", first, closest(sample, o), advice(first))
}

// compare finds the two formats that fit most of the first lines. If no line is a request, best is the format
// whose lines are none for a known reason, such as tunnels.
func compare(sample []byte, o Options, most int) (best, next candidate) {
	var idle candidate
	for _, f := range formats.Table() {
		if f.Stream != nil || f.Last && best.fit > 0 || !looks(f, sample, most) {
			continue
		}
		c := try(f, sample, o, most)
		if f.Last && c.fit < c.lines || f.Wider && c.fit <= best.fit {
			continue
		}
		switch {
		case c.fit > best.fit:
			best, next = c, best
		case c.fit > next.fit:
			next = c
		}
		if c.idle > idle.idle && 2*c.idle >= c.lines {
			idle = c
		}
	}
	if best.fit == 0 {
		best = idle
	}
	return best, next
}

// looks reports whether one of the first lines can be of the format: the formats of a log may be mixed.
func looks(f formats.Format, sample []byte, most int) bool {
	n := 0
	for line := range bytes.Lines(sample) {
		if line = firstLine(line); len(line) == 0 {
			continue
		}
		if f.Looks(served(f, line)) || f.Headed && inside(f, line) {
			return true
		}
		if n++; n == most {
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
	if bytes.Count(sample, []byte{0}) > len(sample)/4 && len(bytes.Trim(sample, "\x00")) > len(sample)/2 {
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

// inside reports whether an object contains a line that can be of the format.
func inside(f formats.Format, line []byte) bool {
	inner := new(head).message(line)
	return inner != nil && f.Looks(inner)
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
	for line := range bytes.Lines(text) {
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
	idle   int  // of these, with a time and a request that is none, such as a tunnel
	timed  bool // a line has a latency
}

// wholly reports whether the last line fitted to its end, though it may have no request.
func (d *lineDecoder) wholly() bool {
	p, ok := d.parser.(placed)
	if !ok {
		return true
	}
	_, reached := p.Where()
	return reached == 1
}

// try counts the first lines of the sample, up to most, that f can parse.
func try(f formats.Format, sample []byte, o Options, most int) candidate {
	c := candidate{format: f}
	o.guessed = true
	o.NoTimes = f.Untimed
	d, err := newLineDecoder(bufio.NewReaderSize(bytes.NewReader(sample), len(sample)+1), f, o, &trace.Left{})
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
		if parse.IsNoRequest(err) {
			c.none++
			if err != parse.Event && err != parse.NoURI && !rec.At.IsZero() && d.wholly() {
				c.idle++
			}
		}
		if err == nil && (!f.Status || rec.Status > 0) {
			c.fit++
			c.timed = c.timed || rec.Latency != trace.Unknown
		}
	}
	return c
}

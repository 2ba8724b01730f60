package reader

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/formats"
)

// sampleLines limits the lines by which auto detects the format.
const sampleLines = 50

// detect finds the format by the lines that can be read already. It waits for one line.
func detect(in *bufio.Reader, o Options) (string, error) {
	sample, err := beginning(in)
	if err != nil {
		return "", err
	}
	if o.Fields != "" {
		return "json", nil
	}
	first := firstLine(sample)
	if len(first) == 0 {
		return formats.Nothing, nil
	}
	best, most := "", 0
	for _, f := range formats.Table() {
		if !f.Looks(served(f, first)) || f.Last && best != "" {
			continue
		}
		if f.Stream != nil {
			return f.Name, nil
		}
		n, bad := goodLines(f, sample, o)
		if n > most && !(f.Last && bad > 0) {
			best, most = f.Name, n
		}
	}
	if best == "" {
		return "", fmt.Errorf("the format cannot be told from the first lines, such as %.100q; %s", first, advice(first))
	}
	return best, nil
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
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

// goodLines counts the lines of the sample that f can parse, and the bad ones.
func goodLines(f formats.Format, sample []byte, o Options) (n, bad int) {
	o.guessed = true
	o.NoTimes = true // a load file with bad dates is still a load file
	d, err := newLineDecoder(bufio.NewReaderSize(bytes.NewReader(sample), len(sample)+1), f, o, &fill.Left{})
	if err != nil {
		return 0, 1
	}
	var rec trace.Record
	for range sampleLines {
		rec.Reset()
		switch err := d.Next(&rec); {
		case err == io.EOF:
			return n, bad
		case err != nil, f.Status && rec.Status == 0:
			bad++
		default:
			n++
		}
	}
	return n, bad
}

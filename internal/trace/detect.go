package trace

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
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
		return nothing, nil
	}
	best, most := "", 0
	for _, f := range table() {
		if !f.looks(f.text(first)) || f.last && best != "" {
			continue
		}
		if f.stream != nil {
			return f.name, nil
		}
		n, bad := goodLines(f, sample, o)
		if n > most && !(f.last && bad > 0) {
			best, most = f.name, n
		}
	}
	if best == "" {
		return "", fmt.Errorf("the format cannot be told from the first lines, such as %.100q; %s", first, advice(first))
	}
	return best, nil
}

// text is the part of a line that the server wrote.
func (f *format) text(line []byte) []byte {
	if f.headed {
		return behindHead(line)
	}
	return line
}

// beginning waits for the first line that is neither blank nor a comment, and returns the
// part of the log that is in memory then.
func beginning(in *bufio.Reader) ([]byte, error) {
	for n := 1; ; n = in.Buffered() + 1 {
		_, err := in.Peek(min(n, maxLine))
		sample, _ := in.Peek(in.Buffered()) // no error: the bytes are buffered
		end := bytes.LastIndexByte(sample, '\n') + 1
		if end > 0 && len(firstLine(sample[:end])) > 0 {
			return sample[:end], nil
		}
		if err != nil || len(sample) == maxLine {
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
func goodLines(f format, sample []byte, o Options) (n, bad int) {
	o.guessed, o.counts = true, &Counts{}
	o.NoTimes = true // a load file with bad dates is still a load file
	p, err := f.line(o)
	if err != nil {
		return 0, 1
	}
	var rec Record
	d := newLineDecoder(bufio.NewReaderSize(bytes.NewReader(sample), len(sample)+1), p, o)
	d.headed = f.headed
	for range sampleLines {
		rec.reset()
		switch err := d.next(&rec); {
		case err == io.EOF:
			return n, bad
		case err != nil, f.status && rec.Status == 0:
			bad++
		default:
			n++
		}
	}
	return n, bad
}

func isText(first []byte) bool   { return first[0] != '{' && first[0] != '<' }
func isObject(first []byte) bool { return first[0] == '{' }
func isXML(first []byte) bool {
	return bytes.HasPrefix(first, []byte("<?xml")) || bytes.HasPrefix(first, []byte("<testResults"))
}
func isJTL(first []byte) bool {
	return bytes.Contains(first, []byte("timeStamp")) && bytes.Contains(first, []byte("elapsed,"))
}

// isHAR accepts an object that continues on the next line, or begins with log.
func isHAR(first []byte) bool {
	start := bytes.Join(bytes.Fields(first[:min(len(first), 100)]), nil)
	return string(start) == "{" || bytes.HasPrefix(start, []byte(`{"log":{`)) || string(start) == `{"log":`
}

package trace

import (
	"bufio"
	"bytes"
	"fmt"
)

// sampleLines is how many lines of a log auto looks at.
const sampleLines = 50

// detect tells the format by the lines that are there already, and at least one.
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
		return "paths", nil // an empty file has no requests, whatever its format
	}
	best, most := "", 0
	for _, f := range table() {
		if f.looks == nil || !f.looks(first) {
			continue
		}
		if f.stream != nil {
			return f.name, nil
		}
		if f.anything && best != "" {
			continue
		}
		if n := goodLines(f, sample, o); n > most {
			best, most = f.name, n
		}
	}
	if best == "" {
		return "", fmt.Errorf("the format cannot be told from the first lines, such as %.100q; give it, by name or as a log_format or LogFormat", first)
	}
	return best, nil
}

// beginning waits for the first line that is no blank or comment, and gives what of
// the log is in memory then.
func beginning(in *bufio.Reader) ([]byte, error) {
	for n := 1; ; n = in.Buffered() + 1 {
		_, err := in.Peek(min(n, maxLine))
		sample, _ := in.Peek(in.Buffered()) // which is there
		end := bytes.LastIndexByte(sample, '\n') + 1
		if end > 0 && len(firstLine(sample[:end])) > 0 {
			return sample[:end], nil
		}
		if err != nil || len(sample) == maxLine {
			return sample, nil // what is wrong will show when it is read
		}
	}
}

// firstLine is the first line that says something: no blank, no comment.
func firstLine(text []byte) []byte {
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

// goodLines counts the lines at the beginning that f understands.
func goodLines(f format, sample []byte, o Options) (n int) {
	p, err := f.line(o)
	if err != nil {
		return 0
	}
	var rec Record
	d := newLineDecoder(bufio.NewReaderSize(bytes.NewReader(sample), len(sample)+1), p, o)
	for range sampleLines {
		rec.reset()
		if d.next(&rec) == nil {
			n++
		}
	}
	return n
}

func isText(first []byte) bool   { return first[0] != '{' && first[0] != '<' }
func isObject(first []byte) bool { return first[0] == '{' }
func isXML(first []byte) bool {
	return bytes.HasPrefix(first, []byte("<?xml")) || bytes.HasPrefix(first, []byte("<testResults"))
}
func isJTL(first []byte) bool {
	return bytes.Contains(first, []byte("timeStamp")) && bytes.Contains(first, []byte("elapsed,"))
}

// isHAR accepts an object that goes on in the next line, or begins with log.
func isHAR(first []byte) bool {
	start := bytes.Join(bytes.Fields(first[:min(len(first), 100)]), nil)
	return string(start) == "{" || bytes.HasPrefix(start, []byte(`{"log":{`)) || string(start) == `{"log":`
}

// isPath accepts what can only be a list: paths, URLs, and methods before them.
func isPath(first []byte) bool {
	method, rest, ok := bytes.Cut(first, []byte(" "))
	if ok && isMethod(method) {
		first = bytes.TrimSpace(rest)
	}
	if !isText(first) {
		return false
	}
	return first[0] == '/' || bytes.HasPrefix(first, []byte("http://")) || bytes.HasPrefix(first, []byte("https://")) || !bytes.ContainsAny(first, " \t,;")
}

package service

import (
	"bytes"
	"regexp"
	"sync"
)

// mostLine is the part of a line that is compared, bytes.
const mostLine = 64 << 10

// finder closes found at the first line that matches. A nil line matches nothing.
type finder struct {
	line  *regexp.Regexp
	found chan struct{}

	mu    sync.Mutex
	begun []byte
	done  bool
}

// Write implements io.Writer. It never fails.
func (f *finder) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.line == nil || f.done {
		return len(p), nil
	}
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		f.begun = append(f.begun, part[:min(len(part), mostLine-len(f.begun))]...)
		if f.line.Match(f.begun) { // also a line without an end
			f.done = true
			close(f.found)
			return len(p), nil
		}
		if ended {
			f.begun = f.begun[:0]
		}
		rest = after
	}
	return len(p), nil
}

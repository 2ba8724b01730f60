package program

import (
	"bytes"
	"io"
	"sync"

	"github.com/taktload/takt/internal/foreign"
)

// said passes standard error of a program on, as far as it is not too much, and keeps its end.
type said struct {
	w      io.Writer // nil: nobody reads it
	mu     sync.Mutex
	passed int
	line   []byte // the begun line, or the start of it
	crash  string // the last line with which the runtime of Go begins to tell of a crash
	end    []byte
}

// mostEnd is the length of the end, and of a line, in bytes.
const mostEnd = 400

// Write implements io.Writer. It never fails: a program whose output is not read would stop.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w != nil && s.passed < maxSaid {
		part := b[:min(len(b), maxSaid-s.passed)]
		s.passed += len(part)
		_, _ = s.w.Write(part) // a broken standard error changes nothing
	}
	s.watch(b)
	s.end = append(s.end, b...)
	if extra := len(s.end) - mostEnd; extra > 0 {
		s.end = append(s.end[:0], s.end[extra:]...)
	}
	return len(b), nil
}

// watch looks for a crash. Its stack, which follows, can be longer than the end.
func (s *said) watch(b []byte) {
	for part := range bytes.Lines(b) {
		s.line = append(s.line, part[:min(len(part), mostEnd-len(s.line))]...)
		if bytes.HasPrefix(s.line, []byte("panic:")) || bytes.HasPrefix(s.line, []byte("fatal error:")) {
			s.crash = string(s.line)
		}
		if bytes.HasSuffix(part, []byte("\n")) {
			s.line = s.line[:0]
		}
	}
}

// last is the line of a crash, or the end, as one line that a terminal can show.
func (s *said) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return foreign.Line(s.telling())
}

// telling is the line of a crash, or the whole lines of the end.
func (s *said) telling() string {
	if s.crash != "" {
		return s.crash
	}
	_, whole, found := bytes.Cut(s.end, []byte("\n"))
	if len(s.end) < mostEnd || !found || len(whole) == 0 {
		return string(s.end)
	}
	return string(whole)
}

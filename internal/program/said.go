package program

import (
	"io"
	"strings"
	"sync"
	"unicode"
)

// said passes standard error of a program on, as far as it is not too much, and keeps its end.
type said struct {
	w      io.Writer // nil: nobody reads it
	mu     sync.Mutex
	passed int
	end    []byte
}

// mostEnd is the length of the end, in bytes.
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
	s.end = append(s.end, b...)
	if extra := len(s.end) - mostEnd; extra > 0 {
		s.end = append(s.end[:0], s.end[extra:]...)
	}
	return len(b), nil
}

// last is the end as one line that a terminal can show.
func (s *said) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	visible := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return '·'
		}
		return r
	}, string(s.end))
	return strings.Join(strings.Fields(visible), " ")
}

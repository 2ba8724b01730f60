package core

import (
	"io"
	"sync"
)

// Serial is e with streams for several goroutines of a run: each write is atomic. Stdout and
// Stderr share a lock only if they are the same stream.
func (e Env) Serial() Env {
	one := e.Stdout == e.Stderr
	e.Stdout = &serialWriter{w: e.Stdout}
	if one {
		e.Stderr = e.Stdout
	} else {
		e.Stderr = &serialWriter{w: e.Stderr}
	}
	return e
}

type serialWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (s *serialWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

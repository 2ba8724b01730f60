package core

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// Stdout is the standard output of the process. It records write errors, so that no command loses
// output and still ends with exit code 0.
type Stdout struct {
	f *os.File

	mu  sync.Mutex
	err error // the first error of a write
}

// NewStdout wraps f, which is os.Stdout. Only main calls it.
func NewStdout(f *os.File) *Stdout { return &Stdout{f: f} }

// Write implements io.Writer.
func (s *Stdout) Write(b []byte) (n int, err error) {
	n, err = s.f.Write(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// Fd is the descriptor of the file.
func (s *Stdout) Fd() uintptr { return s.f.Fd() }

// Exit is the exit code of the process after a command ended with code. A failed write is a
// failure even if the command ignored its error.
func (s *Stdout) Exit(code int, stderr io.Writer) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if code != ExitOK || s.err == nil {
		return code
	}
	fmt.Fprintf(stderr, "takt: cannot write to standard output: %v\n", s.err)
	return ExitFailed
}

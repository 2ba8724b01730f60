package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// errClosed is the error of a write to standard output that was closed from the start.
var errClosed = &fs.PathError{Op: "write", Path: "/dev/stdout", Err: errors.New("it is closed; redirect it to a file, or to /dev/null")}

// Stdout is the standard output of the process. No command can lose what it has to say
// and end with exit code 0.
type Stdout struct {
	f      *os.File
	closed bool

	mu  sync.Mutex
	err error // the first
}

// NewStdout is for main.
func NewStdout(f *os.File) *Stdout { return &Stdout{f: f, closed: wasClosed()} }

// Write implements io.Writer.
func (s *Stdout) Write(b []byte) (n int, err error) {
	if s.closed {
		return 0, errClosed
	}
	n, err = s.f.Write(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// Stat is that of the file.
func (s *Stdout) Stat() (os.FileInfo, error) { return s.f.Stat() }

// Exit is the exit code of a command that ended with code. A write that failed is a
// failure, also where nobody looked at its error.
func (s *Stdout) Exit(code int, stderr io.Writer) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if code != exitOK || s.err == nil {
		return code
	}
	fmt.Fprintf(stderr, "takt: cannot write to standard output: %v\n", s.err)
	return exitFailed
}

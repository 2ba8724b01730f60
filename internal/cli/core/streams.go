package core

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
)

// InterruptibleStdin is the standard input of env, which ends with the first signal.
func InterruptibleStdin(env Env) io.Reader { return interruptible{env} }

// interruptible is standard input that ends with the first signal: a read of a pipe without
// data would not notice the signal.
type interruptible struct{ env Env }

// Read implements io.Reader. A read that the signal interrupts continues in the background, and
// its data is lost.
func (r interruptible) Read(b []byte) (int, error) {
	if r.env.Stdin == nil {
		return 0, io.EOF
	}
	type result struct {
		b   []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		buffer := make([]byte, len(b)) // b belongs to the caller again after a signal
		n, err := r.env.Stdin.Read(buffer)
		done <- result{buffer[:n], err}
	}()
	select {
	case got := <-done:
		return copy(b, got.b), got.err
	case <-r.env.Interrupt.Done():
		return 0, context.Cause(r.env.Interrupt)
	}
}

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

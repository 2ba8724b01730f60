package core

import (
	"context"
	"io"
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

package cli

import (
	"context"
	"io"
)

// interruptible is standard input that the first signal ends: whoever waits for a
// pipe that nobody writes to would not see it.
type interruptible struct{ env Env }

// Read implements io.Reader. A read that the signal overtakes goes on by itself and
// is lost.
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
		own := make([]byte, len(b))
		n, err := r.env.Stdin.Read(own)
		done <- result{own[:n], err}
	}()
	select {
	case got := <-done:
		return copy(b, got.b), got.err
	case <-r.env.Interrupt.Done():
		return 0, context.Cause(r.env.Interrupt)
	}
}

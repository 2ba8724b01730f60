package core

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/taktload/takt/internal/stop"
)

// SignalError is the context's cause after a signal stopped the run.
type SignalError = stop.SignalError

// SignalOf returns the signal that ended ctx; nil: no signal did.
func SignalOf(ctx context.Context) (s *SignalError) {
	errors.As(context.Cause(ctx), &s)
	return s
}

// ExitBy is the error that ends a command with the exit code of a signal; err is nil if there is
// nothing more to print.
func ExitBy(s *SignalError, err error) error { return ExitWith(ExitSignal+s.Number, err) }

// Signals turns signals of the process into Env.Interrupt and Env.Abort: the first signal stops
// gracefully, the second at once. It ignores SIGPIPE, so that writing to a closed pipe is an
// error; the signal would end the process with the other outputs empty. Only main calls it.
func Signals(caught stop.Caught) (interrupt context.Context, abort <-chan struct{}) {
	signal.Ignore(syscall.SIGPIPE)
	s := caught.Steps(func() {})
	return s.Interrupt, s.Abort
}

// Quit does what the first Ctrl-C does. Only main passes it on.
func Quit() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Signal(os.Interrupt) // the run goes on if the system has no such signal
	}
}

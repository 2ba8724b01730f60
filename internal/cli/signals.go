package cli

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/taktload/takt/internal/stop"
)

// SignalError is the cause of a run that a signal stopped.
type SignalError = stop.SignalError

// Signals turns the process's signals into the two steps of an Env: the first one stops
// gracefully, the second at once. A pipe that nobody reads any more is an error of who
// writes to it: as a signal it would end the process with the other outputs empty. It is
// for main.
func Signals() (interrupt context.Context, abort <-chan struct{}) {
	signal.Ignore(syscall.SIGPIPE)
	s := stop.Signals(func() {})
	return s.Interrupt, s.Abort
}

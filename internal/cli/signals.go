package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// SignalError is the cause of a run that a signal stopped.
type SignalError struct{ Number int }

func (e *SignalError) Error() string {
	switch s := syscall.Signal(e.Number); s {
	case syscall.SIGINT:
		return "stopped by SIGINT"
	case syscall.SIGTERM:
		return "stopped by SIGTERM"
	default:
		return fmt.Sprintf("stopped by signal %s", s)
	}
}

// Signals turns the process's signals into the two steps of an Env: the first
// SIGINT or SIGTERM stops gracefully, the second at once. A pipe that nobody reads
// any more is an error of who writes to it: as a signal it would end the process with
// the other outputs empty. It is for main.
func Signals() (interrupt context.Context, abort <-chan struct{}) {
	ctx, cancel := context.WithCancelCause(context.Background())
	now := make(chan struct{})
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		first := <-c
		number, _ := first.(syscall.Signal)
		cancel(&SignalError{int(number)})
		<-c
		close(now)
		signal.Reset(os.Interrupt, syscall.SIGTERM) // a third one kills
	}()
	return ctx, now
}

package bench

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signalError is the cause of a run that a signal stopped.
type signalError struct{ number int }

func (e *signalError) Error() string {
	return fmt.Sprintf("stopped by signal %s", syscall.Signal(e.number))
}

// signals turns the process's signals into two steps: the first SIGINT or SIGTERM
// ends interrupt and calls first, the second closes abort, a third does what it
// does without takt. A pipe that nobody reads any more is an error of who writes to
// it: as a signal it would end the program before its files are written. restore
// gives the signals back.
func signals(first func()) (interrupt context.Context, abort <-chan struct{}, restore func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	now, over := make(chan struct{}), make(chan struct{})
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	go func() {
		select {
		case s := <-c:
			number, _ := s.(syscall.Signal)
			cancel(&signalError{int(number)})
			first()
		case <-over:
			return
		}
		select {
		case <-c:
			signal.Stop(c)
			close(now)
		case <-over:
		}
	}()
	return ctx, now, sync.OnceFunc(func() {
		signal.Stop(c)
		signal.Stop(pipe)
		close(over)
	})
}

// Package stop turns the process's signals into the two steps that end a run.
package stop

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// SignalError is the cause of a run that a signal stopped.
type SignalError struct{ Number int }

func (e *SignalError) Error() string {
	s := syscall.Signal(e.Number)
	if name, ok := names()[s]; ok {
		return "stopped by " + name
	}
	return fmt.Sprintf("stopped by signal %s", s)
}

// names are the signals that end a run.
func names() map[syscall.Signal]string {
	return map[syscall.Signal]string{
		syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP", syscall.SIGQUIT: "SIGQUIT",
	}
}

// hangup is how long several SIGHUP count as one: when a terminal goes away, both the
// kernel and the shell send it.
const hangup = time.Second

// Steps are the two steps.
type Steps struct {
	Interrupt context.Context // ends with the first signal; its cause is a SignalError
	Abort     <-chan struct{} // closed by the second
	Restore   func()          // gives the signals back to the process
}

// Caught are the signals of the process that wait for Steps.
type Caught chan os.Signal

// Catch catches SIGINT, SIGTERM, SIGQUIT and SIGHUP from now on, but SIGHUP not under nohup.
func Catch() Caught {
	c := make(Caught, 4)
	for s := range names() {
		if s != syscall.SIGHUP || !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c
}

// Release gives the signals back to the process.
func (c Caught) Release() { signal.Stop(c) }

// Steps calls first after the first signal, which may have come already. After the second one the signals
// kill again.
func (c Caught) Steps(first func()) Steps { return steps(c, first, c.Release) }

func steps(c <-chan os.Signal, first, restore func()) Steps {
	ctx, cancel := context.WithCancelCause(context.Background())
	abort, over := make(chan struct{}), make(chan struct{})
	go func() {
		s, ok := next(c, over, nil)
		if !ok {
			return
		}
		number, _ := s.(syscall.Signal)
		cancel(&SignalError{int(number)})
		first()
		if _, ok := next(c, over, s); ok {
			restore()
			close(abort)
		}
	}()
	return Steps{ctx, abort, sync.OnceFunc(func() {
		restore()
		close(over)
	})}
}

// next waits for the next signal; ok is false when over is closed first. A SIGHUP soon
// after that of the step before is the same one.
func next(c <-chan os.Signal, over <-chan struct{}, before os.Signal) (s os.Signal, ok bool) {
	began := time.Now()
	for {
		select {
		case s = <-c:
			if s == syscall.SIGHUP && s == before && time.Since(began) < hangup {
				continue
			}
			return s, true
		case <-over:
			return nil, false
		}
	}
}

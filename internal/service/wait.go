package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/permanent"
)

// pollTime is the time between two questions to a server that starts.
const pollTime = 20 * time.Millisecond

// Wait is the wait for a server that starts.
type Wait struct {
	Patience time.Duration               // longest time until the server is ready
	Ask      func(context.Context) error // asks the server, and ends soon; nil error: it is ready. A nil Ask: only Said tells
	Said     <-chan struct{}             // closed when the server's output says that it is ready; nil: it never does
	Ended    <-chan struct{}             // closed when the server has ended; nil: not known
}

// ErrEnded says that a server has ended by itself.
var ErrEnded = errors.New("the server ended by itself")

// Late is a server that is not ready after the patience.
type Late struct{ Last error } // Last is what it answered to the last question; nil: nobody asked

// Error implements error.
func (l *Late) Error() string { return fmt.Sprintf("the server is not ready: %v", l.Last) }

// For waits until the server is ready. The error is ErrEnded, a *Late, the cause of ctx, or, if it is permanent, that
// of Ask: a server that waiting does not make ready. An answer counts only while the server lives: another program may
// have taken its port.
func (w *Wait) For(ctx context.Context) error {
	over := time.NewTimer(w.Patience)
	defer over.Stop()
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	var last error
	for {
		if w.Ask != nil {
			last = w.Ask(ctx) // may end after the patience: cut off by it, it would say so and not why
			switch {
			case last == nil && closed(w.Ended):
				return ErrEnded
			case last == nil, permanent.Is(last):
				return last
			}
		}
		select {
		case <-w.Said:
			return nil
		case <-w.Ended:
			return ErrEnded
		case <-ctx.Done():
			return cmp.Or(context.Cause(ctx), ctx.Err())
		case <-over.C:
			return &Late{last}
		case <-tick.C:
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

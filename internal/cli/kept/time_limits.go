package kept

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/pause"
)

// Grace is how long Patient waits after its context ends: a function that obeys the context
// returns a better error itself.
const Grace = 500 * time.Millisecond

var (
	errSlow    = fmt.Errorf("no answer within %v", saveTime)
	errAborted = errors.New("a second signal came")
)

// Patient calls f, and waits for it until ctx ends, because a system call on a hanging disk
// ignores contexts. f may continue after that; its result is lost.
func Patient(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(Grace):
		return fmt.Errorf("the store does not answer: %w", context.Cause(ctx))
	}
}

// saving limits ctx to the time that saving a run may take: saveTime, or abortTime after abort
// is closed. abort does not end it at once: the second signal ended the run, and the report
// still has to be saved.
func saving(ctx context.Context, abort <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, saveTime, errSlow)
	aborting, stop := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-abort:
			pause.For(abortTime, ctx.Done())
			stop(errAborted)
		case <-ctx.Done():
		}
	}()
	return aborting, func() { stop(nil); cancel() }
}

// inTime calls f, which saves a run, with the limits of saving.
func inTime(abort <-chan struct{}, f func(context.Context) error) error {
	ctx, cancel := saving(context.Background(), abort)
	defer cancel()
	return Patient(ctx, func() error { return f(ctx) })
}

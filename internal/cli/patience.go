package cli

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// grace is for what ends by itself when its context does, and says it better.
const grace = 500 * time.Millisecond

var (
	errSlow    = fmt.Errorf("no answer within %v", saveTime)
	errAborted = errors.New("a second signal came")
)

// patient calls f, and waits for it until ctx ends: a system call on a disk that hangs
// knows no context. f may go on, and its result is lost.
func patient(ctx context.Context, f func() error) error {
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
	case <-time.After(grace):
		return fmt.Errorf("the store does not answer: %w", context.Cause(ctx))
	}
}

// saving is ctx for as long as it may take to keep a run; once abort is closed that is
// not long. It is not over at once, since the second signal has ended a run whose report
// is still to be kept.
func saving(ctx context.Context, abort <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, saveTime, errSlow)
	aborting, stop := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-abort:
			rest(ctx, abortTime)
			stop(errAborted)
		case <-ctx.Done():
		}
	}()
	return aborting, func() { stop(nil); cancel() }
}

// inTime calls f, which keeps a run.
func inTime(abort <-chan struct{}, f func(context.Context) error) error {
	ctx, cancel := saving(context.Background(), abort)
	defer cancel()
	return patient(ctx, func() error { return f(ctx) })
}

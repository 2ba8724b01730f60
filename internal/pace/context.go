package pace

import (
	"context"
	"time"
)

type contextKey struct{}

// In returns a context whose runs wait by another waiter, that of fake time. They have no figures of their host,
// whose time is another.
func In(ctx context.Context, waiter func(start time.Time) Waiter) context.Context {
	return context.WithValue(ctx, contextKey{}, waiter)
}

// Of returns the waiter of In; nil: ctx has none.
func Of(ctx context.Context) func(start time.Time) Waiter {
	waiter, _ := ctx.Value(contextKey{}).(func(time.Time) Waiter)
	return waiter
}

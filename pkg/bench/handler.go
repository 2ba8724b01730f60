package bench

import "context"

// RequestHandler is what a benchmark calls, once for each request. All workers call
// the same one, so it must be safe for concurrent use.
//
// localIndex counts the calls of one worker, from 0, those of the warm-up
// included. (wrk3's documentation says 0 too, its code began with 1.) An error
// makes the request a failed one; its text is counted and reported.
//
// A handler that panics ends the program, as it would anywhere else in Go: what
// comes after a broken invariant is no measurement.
type RequestHandler interface {
	ExecuteRequest(localIndex int) error
}

// RequestFunc is a function as a RequestHandler.
type RequestFunc func(localIndex int) error

// ExecuteRequest calls f.
func (f RequestFunc) ExecuteRequest(localIndex int) error { return f(localIndex) }

// ContextHandler is a RequestHandler that wants to know when it is no longer
// waited for. A benchmark then calls ExecuteRequestContext and nothing else.
type ContextHandler interface {
	RequestHandler
	// ExecuteRequestContext is ExecuteRequest under a context that ends with the
	// drain: not with the duration, and not at the first signal, so that requests
	// under way can complete. Timeouts are the handler's own.
	ExecuteRequestContext(ctx context.Context, localIndex int) error
}

// ContextFunc is a function as a ContextHandler.
type ContextFunc func(ctx context.Context, localIndex int) error

// ExecuteRequest calls f under a context that never ends.
func (f ContextFunc) ExecuteRequest(localIndex int) error { return f(context.Background(), localIndex) }

// ExecuteRequestContext calls f.
func (f ContextFunc) ExecuteRequestContext(ctx context.Context, localIndex int) error {
	return f(ctx, localIndex)
}

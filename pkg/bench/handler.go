package bench

import "context"

// RequestHandler is called by a benchmark once for each request. All workers share it, so it
// must be safe for concurrent use.
//
// localIndex counts the calls of one worker from 0, warm-up included. (wrk3's documentation
// also says 0, but its code began with 1.) An error makes the request fail; its text is
// counted and reported.
//
// takt does not know the connections of a handler. A handler that keeps a connection itself must
// close it after a timeout: otherwise the late answer counts for a later request. Clients such as
// net/http's do so. The workers of load.Workers, for Main, have connections that takt opens again.
//
// A handler that panics ends the program, as usual in Go: after a broken invariant no
// measurement is valid.
type RequestHandler interface {
	ExecuteRequest(localIndex int) error
}

// RequestFunc is a function that implements RequestHandler.
type RequestFunc func(localIndex int) error

// ExecuteRequest calls f.
func (f RequestFunc) ExecuteRequest(localIndex int) error { return f(localIndex) }

// ContextHandler is a RequestHandler with a context that ends when the benchmark stops
// waiting. A benchmark then calls only ExecuteRequestContext.
type ContextHandler interface {
	RequestHandler
	// ExecuteRequestContext is ExecuteRequest with a context. The context ends after the
	// drain, not with the duration or at the first signal, so that requests in flight can
	// complete. Timeouts are the handler's task.
	ExecuteRequestContext(ctx context.Context, localIndex int) error
}

// ContextFunc is a function that implements ContextHandler.
type ContextFunc func(ctx context.Context, localIndex int) error

// ExecuteRequest calls f with a context that never ends.
func (f ContextFunc) ExecuteRequest(localIndex int) error { return f(context.Background(), localIndex) }

// ExecuteRequestContext calls f.
func (f ContextFunc) ExecuteRequestContext(ctx context.Context, localIndex int) error {
	return f(ctx, localIndex)
}

package door

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// ServeHTTP serves a listener until the context ends, and returns its cause. Open answers get the time
// patience then.
func ServeHTTP(ctx context.Context, h *http.Server, l net.Listener, patience time.Duration) error {
	h.BaseContext = func(net.Listener) context.Context { return ctx }
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if h.Shutdown(end) != nil {
			_ = h.Close() // an error loses nothing
		}
	}()
	err := h.Serve(l)
	if errors.Is(err, http.ErrServerClosed) || ctx.Err() != nil {
		<-done
		return context.Cause(ctx)
	}
	return err
}

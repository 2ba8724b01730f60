package door

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

type visitorKey struct{}

// VisitorOf is the connection of a request to ServeHTTP.
func VisitorOf(r *http.Request) *Visitor {
	v, _ := r.Context().Value(visitorKey{}).(*Visitor)
	return v
}

// ServeHTTP serves a listener of Limited, with TLS above it or not, until the context ends, and returns its cause. Open
// answers get the time patience then. The handler gets every request: net/http would answer OPTIONS *
// before it.
func ServeHTTP(ctx context.Context, h *http.Server, l net.Listener, patience time.Duration) error {
	h.BaseContext = func(net.Listener) context.Context { return ctx }
	h.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		return context.WithValue(ctx, visitorKey{}, c)
	}
	h.DisableGeneralOptionsHandler = true
	h.ErrorLog = log.New(io.Discard, "", 0) // clients cause what would be there
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

package http

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// ending is a connection whose reads end with an error.
type ending struct {
	net.Conn
	err error
}

func (c ending) Read([]byte) (int, error) { return 0, c.err }

// net/http tells requests that their connection could not be established, perhaps before the reader of that
// connection knows why. A server that refuses a client certificate over TLS 1.3 does so after the handshake.
func TestClassOfAConnectionThatWasNeverUsed(t *testing.T) {
	alert := &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for name, c := range map[string]struct {
		ends  error // of the connection; nil: it does not end
		plain bool
		class string
		why   error // nil: what net/http says
	}{
		"an alert":            {alert, false, engine.ClassTLS, alert},
		"a reset":             {reset, false, engine.ClassReset, reset},
		"its end":             {io.EOF, false, http1.ClassClosed, nil},
		"net/http closes it":  {net.ErrClosed, false, engine.ClassTLS, nil},
		"nothing":             {nil, false, engine.ClassTLS, nil},
		"nothing without TLS": {nil, true, http1.ClassClosed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				counted := &countedConn{Conn: ending{err: c.ends}, over: make(chan struct{})}
				if !c.plain {
					counted.carrier = &carrier{err: c.ends}
				}
				var r takt.Result
				seen := &trace{r: &r}
				seen.conn.Store(counted)
				if c.ends != nil {
					time.AfterFunc(time.Second, func() { _, _ = counted.Read(nil) }) // after the request was told
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				told := errors.New("http2: client conn could not be established")
				(&netWorker{c: &netClient{o: &Options{}}}).fail(ctx, &r, told, seen)
				if r.Class != c.class || c.why != nil && !errors.Is(r.Err, c.why) || r.Err == nil {
					t.Errorf("%s (%v), want %s (%v)", r.Class, r.Err, c.class, c.why)
				}
			})
		})
	}
	var r takt.Result
	(&netWorker{c: &netClient{o: &Options{}}}).fail(t.Context(), &r, errors.New("http2: client conn could not be established"), &trace{r: &r})
	if r.Class != engine.ClassTLS {
		t.Errorf("without a connection: %s", r.Class)
	}
}

package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// classRefusedStream is the class of an HTTP/2 request that the server did not take.
const classRefusedStream = "refused_stream"

var errRefusedStream = errors.New("the server refused the stream (REFUSED_STREAM)")

// netWords are what net/http says, which has no errors for it, and what that is.
var netWords = []struct{ text, class string }{
	{"response headers exceeded", http1.ClassTooLarge},
	{"header list larger than advertised limit", http1.ClassTooLarge},
	{"server closed idle connection", http1.ClassClosed},
	{"server sent GOAWAY and closed the connection", http1.ClassClosed},
	{"client connection lost", http1.ClassClosed},
	{"client connection force closed", http1.ClassClosed},
	{"; received from peer", engine.ClassReset}, // RST_STREAM
	{"tls: ", engine.ClassTLS},                  // of crypto/tls, whose errors have no types
}

// neverUsed is what net/http says to a request that would have been the first on a connection of
// HTTP/2 that broke.
const neverUsed = "client conn could not be established"

// fail gives a request that failed with err the class that takt's own client would. t has
// seen the request, which ends with ctx at the latest.
func (w *netWorker) fail(ctx context.Context, r *takt.Result, err error, t *trace) {
	var dialling dialError
	engine.Fail(r, err, errors.As(err, &dialling))
	switch {
	case t.refused:
		r.Class, r.Err = classRefusedStream, errRefusedStream
	case errors.Is(err, http1.ErrSwitched):
		r.Class = http1.ClassMalformed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && t.firstByte.Load() == 0:
		r.Class = http1.ClassClosed
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.Class = http1.ClassTruncated
	case r.Class == engine.ClassNetwork && strings.Contains(err.Error(), neverUsed):
		r.Class, r.Err = t.neverUsed(ctx, err)
	case r.Class == engine.ClassNetwork && t.broken() != nil:
		r.Class, r.Err = engine.ClassTLS, t.broken()
	case r.Class == engine.ClassNetwork:
		r.Class = netClass(err, t)
	}
	if told := w.c.explain(err); told != err {
		r.Class, r.Err = classProtocol, told
	}
}

// neverUsed says why the connection of the request broke before it had any. net/http has closed the
// connection or is about to, and TLS repeats to every reader the alert that ended it.
func (t *trace) neverUsed(ctx context.Context, err error) (class string, why error) {
	s := t.tlsConn.Load()
	if s == nil {
		return http1.ClassClosed, err
	}
	defer context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })() // fails on a closed connection only
	if _, why := s.Read(make([]byte, 1)); why != nil && engine.Classify(why) == engine.ClassTLS {
		return engine.ClassTLS, why
	}
	return http1.ClassClosed, err // without a word of TLS
}

// netClass is the class of an error that is none of the network's by its type.
func netClass(err error, t *trace) string {
	for _, w := range netWords {
		if strings.Contains(err.Error(), w.text) {
			return w.class
		}
	}
	var op *net.OpError
	var errno syscall.Errno
	switch {
	case errors.As(err, &op), errors.As(err, &errno):
		if t.reused {
			return http1.ClassClosed
		}
		return engine.ClassNetwork
	case t.ended():
		return http1.ClassTruncated // net/http takes half a line for a whole one
	}
	return http1.ClassMalformed // what is left is what it says of bytes that it does not like
}

// explain says of an error that the server does not speak HTTP/2, if that is why.
func (c *netClient) explain(err error) error {
	if err == nil || !c.o.HTTP2 || !isHTTP1(err) {
		return err
	}
	return fmt.Errorf("the server does not speak HTTP/2: %w; leave --h2 out", err)
}

// isHTTP1 knows by its words what net/http says of a server without HTTP/2: it has
// no errors for that. Such a server refuses the name in the TLS handshake, or reads
// the preface as a request and answers it, and HTTP is the length of a frame of 4.7 MB.
func isHTTP1(err error) bool {
	text := err.Error()
	return strings.Contains(text, "no application protocol") || strings.Contains(text, "http2: frame too large")
}

package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Classes of failures that any protocol over TCP can have. Drivers add their own.
const (
	ClassTimeout        = "timeout"         // no complete answer in time
	ClassConnectTimeout = "connect_timeout" // no connection in time
	ClassRefused        = "refused"         // no process listens on the port
	ClassReset          = "reset"           // the other side reset the connection
	ClassClosed         = "closed"          // the other side closed the connection
	ClassTruncated      = "truncated"       // the connection ended within an answer
	ClassUnsolicited    = "unsolicited"     // bytes came before the request was written
	ClassDNS            = "dns"
	ClassTLS            = "tls"
	ClassFiles          = verdict.ClassFiles
	ClassPorts          = verdict.ClassPorts
	ClassMemory         = verdict.ClassMemory
	ClassWorker         = "worker"  // no worker could be made for the operation
	ClassNetwork        = "network" // anything else
)

// errEnded is the error of a connection that the other side closed before the request.
var errEnded = fmt.Errorf("connection closed before the request: %w", io.EOF)

type tlsError struct{ err error }

func (e *tlsError) Error() string {
	if errors.Is(e.err, context.DeadlineExceeded) || errors.Is(e.err, os.ErrDeadlineExceeded) {
		return "the target accepted the connection, but did not complete the TLS handshake in time: " + e.err.Error()
	}
	return e.err.Error()
}

func (e *tlsError) Unwrap() error { return e.err }

// HandshakeFailed is err with the class of a TLS handshake that failed.
func HandshakeFailed(err error) error { return &tlsError{err} }

// Fail sets r's class and error for the network error err. dialling: there was no connection
// yet.
func Fail(r *takt.Result, err error, dialling bool) {
	r.Class, r.Err = classify(err, dialling), err
	blameHost(r)
}

// overdue gives an operation that the target reset the class of Loop.Overdue, if its time was over by then: such as gRPC's
// deadlines, which servers know, too. took is the time since it was sent.
func overdue(l *takt.Loop, took time.Duration, r *takt.Result) {
	if l.Overdue != nil && r.Class == ClassReset && took >= l.Timeout {
		Fail(r, l.Overdue, false)
	}
}

// Classify returns the class of an error of an established connection.
func Classify(err error) string { return classify(err, false) }

func classify(err error, dialling bool) string {
	var dns *net.DNSError
	var hello *tlsError
	var record tls.RecordHeaderError
	var op *net.OpError
	var own interface{ Class() string }
	switch {
	case errors.As(err, &own):
		return own.Class()
	case errors.As(err, &dns):
		return ClassDNS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		if dialling {
			return ClassConnectTimeout
		}
		return ClassTimeout
	case errors.As(err, &hello), errors.As(err, &record), errors.As(err, &op) && alerts[op.Op]:
		return ClassTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return ClassRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ClassReset
	case errors.Is(err, io.EOF):
		return ClassClosed
	case errors.Is(err, ErrUnsolicited):
		return ClassUnsolicited
	}
	return ClassNetwork
}

// alerts are the operations in crypto/tls's errors about alerts, whose type it does not export.
// A server of TLS 1.3 refuses a client certificate only after the handshake of the client.
var alerts = map[string]bool{"remote error": true, "local error": true}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

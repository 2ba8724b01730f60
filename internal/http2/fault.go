package http2

import (
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2/wire"
)

// Classes of failures that HTTP/1.1 does not have. The others are those of http1.
const (
	ClassProtocol      = "protocol"       // the server does not speak HTTP/2
	ClassRefusedStream = "refused_stream" // the server took no stream for the request, time and again
	ClassReset         = "reset"          // the server reset the stream
)

// fault is an error with a class, and the code with which the other side hears of it. All faults
// but those with a code of the server are made once: a server that fails 100 000 times a second
// costs no allocation.
type fault struct {
	class, text string
	code        wire.Code
}

func (f *fault) Error() string { return f.text }

func malformed(text string, c wire.Code) *fault { return &fault{http1.ClassMalformed, text, c} }

// Faults of a connection.
var (
	errClosed     = &fault{http1.ClassClosed, "connection closed before a response", wire.NoError}
	errTruncated  = &fault{http1.ClassTruncated, "connection closed in the middle of a response", wire.NoError}
	errNotHTTP2   = &fault{ClassProtocol, "the server does not speak HTTP/2 without TLS; write https://, or leave --h2 out", wire.ProtocolError}
	errNoSettings = &fault{ClassProtocol, "the server's first frame is not SETTINGS", wire.ProtocolError}
	errLongFrame  = malformed("frame longer than allowed", wire.FrameSizeError)
	errShort      = malformed("frame of a wrong length", wire.FrameSizeError)
	errPadding    = malformed("padding longer than its frame", wire.ProtocolError)
	errStream     = malformed("frame on a wrong stream", wire.ProtocolError)
	errIdle       = malformed("frame on a stream that was not opened", wire.ProtocolError)
	errPush       = malformed("PUSH_PROMISE, which was not allowed", wire.ProtocolError)
	errSequence   = malformed("CONTINUATION expected, or not expected", wire.ProtocolError)
	errSetting    = malformed("setting with a value that it cannot have", wire.ProtocolError)
	errZero       = malformed("WINDOW_UPDATE of 0", wire.ProtocolError)
	errWindow     = malformed("flow-control window over 2^31-1", wire.FlowControlError)
	errOverrun    = malformed("more DATA than the window allows", wire.FlowControlError)
	errBlock      = malformed("header block that cannot be decoded", wire.CompressionError)
	errFlood      = &fault{http1.ClassMalformed, "thousands of frames that bring nothing", wire.EnhanceYourCalm}
	errLongHead   = &fault{http1.ClassTooLarge, "response head over the limit of bytes", wire.EnhanceYourCalm}
)

// Faults of a stream; the connection goes on.
var (
	errFields   = &fault{http1.ClassTooLarge, "response head over the limit of header lines", wire.Cancel}
	errHead     = &fault{http1.ClassTooLarge, "response head over the limit of bytes", wire.Cancel}
	errBody     = &fault{http1.ClassTooLarge, "response body over the limit of bytes", wire.Cancel}
	errPseudo   = malformed("missing, repeated or unknown pseudo-header", wire.ProtocolError)
	errName     = malformed("invalid header name", wire.ProtocolError)
	errValue    = malformed("control character in a header value", wire.ProtocolError)
	errHop      = malformed("header of HTTP/1.1 connections", wire.ProtocolError)
	errLength   = malformed("malformed or conflicting content-length", wire.ProtocolError)
	errAmount   = malformed("body not as long as content-length says", wire.ProtocolError)
	errQuiet    = malformed("DATA of an answer that has none: 204, 304, or to HEAD", wire.ProtocolError)
	errNoHead   = malformed("DATA before a response head", wire.ProtocolError)
	errInterim  = malformed("interim response that ends the stream", wire.ProtocolError)
	errTrailer  = malformed("second response head, or trailers that end no stream", wire.ProtocolError)
	errSwitched = malformed("server switched to another protocol (101)", wire.ProtocolError)
	errZeroHere = malformed("WINDOW_UPDATE of 0 on a stream", wire.ProtocolError)
	errOverHere = malformed("flow-control window of a stream over 2^31-1", wire.FlowControlError)
	errAway     = &fault{http1.ClassClosed, "the server closed one connection after the other without taking the request (GOAWAY)", wire.NoError}
	errRefused  = &fault{ClassRefusedStream, "the server refused the stream again and again (REFUSED_STREAM)", wire.RefusedStream}
)

// resets are the faults of streams that the server reset, by code.
var resets = func() (list [wire.Codes]*fault) {
	for i := range list {
		list[i] = resetFault(wire.Code(i))
	}
	return list
}()

func resetFault(c wire.Code) *fault {
	return &fault{ClassReset, "stream reset by the server: " + c.String(), c}
}

func resetBy(c wire.Code) *fault {
	if int(c) < len(resets) {
		return resets[c]
	}
	return resetFault(c)
}

// misframed is the fault of a DATA or HEADERS frame that does not hold what it says.
func misframed(c wire.Code) *fault {
	if c == wire.FrameSizeError {
		return errShort
	}
	return errPadding
}

package http2

import (
	"fmt"

	"github.com/taktload/takt/internal/http1"
)

// Classes of failures that HTTP/1.1 does not have. The others are those of http1.
const (
	ClassProtocol      = "protocol"       // the server does not speak HTTP/2
	ClassRefusedStream = "refused_stream" // the server took no stream for the request, time and again
	ClassReset         = "reset"          // the server reset the stream
)

// code is an error code (RFC 9113, 7).
type code uint32

const (
	noError code = iota
	protocolError
	internalError
	flowControlError
	settingsTimeout
	streamClosed
	frameSizeError
	refusedStream
	cancel
	compressionError
	connectError
	enhanceYourCalm
	inadequateSecurity
	http11Required
)

var codeNames = [...]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
	"REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

func (c code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("error code %d", uint32(c))
}

// fault is an error with a class, and the code with which the other side hears of it. All faults
// but those with a code of the server are made once: a server that fails 100 000 times a second
// costs no allocation.
type fault struct {
	class, text string
	code        code
}

func (f *fault) Error() string { return f.text }

func malformed(text string, c code) *fault { return &fault{http1.ClassMalformed, text, c} }

// Faults of a connection.
var (
	errClosed     = &fault{http1.ClassClosed, "connection closed before a response", noError}
	errTruncated  = &fault{http1.ClassTruncated, "connection closed in the middle of a response", noError}
	errNotHTTP2   = &fault{ClassProtocol, "the server does not speak HTTP/2; leave --h2 out", protocolError}
	errNoSettings = &fault{ClassProtocol, "the server's first frame is not SETTINGS", protocolError}
	errLongFrame  = malformed("frame longer than allowed", frameSizeError)
	errShort      = malformed("frame of a wrong length", frameSizeError)
	errPadding    = malformed("padding longer than its frame", protocolError)
	errStream     = malformed("frame on a wrong stream", protocolError)
	errIdle       = malformed("frame on a stream that was not opened", protocolError)
	errPush       = malformed("PUSH_PROMISE, which was not allowed", protocolError)
	errSequence   = malformed("CONTINUATION expected, or not expected", protocolError)
	errSetting    = malformed("setting with a value that it cannot have", protocolError)
	errZero       = malformed("WINDOW_UPDATE of 0", protocolError)
	errWindow     = malformed("flow-control window over 2^31-1", flowControlError)
	errOverrun    = malformed("more DATA than the window allows", flowControlError)
	errBlock      = malformed("header block that cannot be decoded", compressionError)
	errFlood      = &fault{http1.ClassMalformed, "thousands of frames that bring nothing", enhanceYourCalm}
	errLongHead   = &fault{http1.ClassTooLarge, "response head over the limit of bytes", enhanceYourCalm}
)

// Faults of a stream; the connection goes on.
var (
	errFields   = &fault{http1.ClassTooLarge, "response head over the limit of header lines", cancel}
	errHead     = &fault{http1.ClassTooLarge, "response head over the limit of bytes", cancel}
	errBody     = &fault{http1.ClassTooLarge, "response body over the limit of bytes", cancel}
	errPseudo   = malformed("missing, repeated or unknown pseudo-header", protocolError)
	errName     = malformed("invalid header name", protocolError)
	errValue    = malformed("control character in a header value", protocolError)
	errHop      = malformed("header of HTTP/1.1 connections", protocolError)
	errLength   = malformed("malformed or conflicting content-length", protocolError)
	errAmount   = malformed("body not as long as content-length says", protocolError)
	errNoHead   = malformed("DATA before a response head", protocolError)
	errInterim  = malformed("interim response that ends the stream", protocolError)
	errTrailer  = malformed("second response head, or trailers that end no stream", protocolError)
	errSwitched = malformed("server switched to another protocol (101)", protocolError)
	errZeroHere = malformed("WINDOW_UPDATE of 0 on a stream", protocolError)
	errOverHere = malformed("flow-control window of a stream over 2^31-1", flowControlError)
	errAway     = &fault{http1.ClassClosed, "the server closed one connection after the other without taking the request (GOAWAY)", noError}
	errRefused  = &fault{ClassRefusedStream, "the server refused the stream again and again (REFUSED_STREAM)", refusedStream}
)

// resets are the faults of streams that the server reset, by code.
var resets = func() (list [len(codeNames)]*fault) {
	for i := range list {
		list[i] = resetFault(code(i))
	}
	return list
}()

func resetFault(c code) *fault {
	return &fault{ClassReset, "stream reset by the server: " + c.String(), c}
}

func resetBy(c code) *fault {
	if int(c) < len(resets) {
		return resets[c]
	}
	return resetFault(c)
}

package http1

// Classes of answers that are not valid HTTP, for Result.Class.
const (
	ClassClosed    = "closed"    // the connection ended before the first byte of an answer
	ClassTruncated = "truncated" // the connection ended within an answer
	ClassMalformed = "malformed" // the answer violates RFC 9112
	ClassTooLarge  = "too_large" // the answer exceeds a limit of Options
)

// fault is an error with a class. All faults are made once, below: a server that fails
// 100 000 times a second costs no allocation either.
type fault struct{ class, text string }

func (f *fault) Error() string { return f.text }

// starved is not a failure: the step needs more bytes.
var starved = &fault{}

var (
	errClosed    = &fault{ClassClosed, "connection closed before a response"}
	errTruncated = &fault{ClassTruncated, "connection closed in the middle of a response"}
	errNotHTTP   = &fault{ClassMalformed, "not an HTTP/1.0 or HTTP/1.1 response"}
	errHTTP2     = &fault{ClassMalformed, "the server answers in HTTP/2; add --h2"}
	errStatus    = &fault{ClassMalformed, "malformed status line"}
	// ErrSwitched is exported for clients that do not parse with this package.
	ErrSwitched   = &fault{ClassMalformed, "server switched to another protocol (101)"}
	errNoColon    = &fault{ClassMalformed, "header line without a colon"}
	errName       = &fault{ClassMalformed, "invalid header name"}
	errValue      = &fault{ClassMalformed, "control character in a header value"}
	errFold       = &fault{ClassMalformed, "folded header line"}
	errLength     = &fault{ClassMalformed, "malformed content-length"}
	errLengths    = &fault{ClassMalformed, "conflicting content-length headers"}
	errCoding     = &fault{ClassMalformed, "transfer-encoding other than chunked"}
	errChunkSize  = &fault{ClassMalformed, "malformed chunk size"}
	errChunkEnd   = &fault{ClassMalformed, "chunk longer than its size says"}
	errTrailerEnd = &fault{ClassMalformed, "trailer line ends with a bare line feed"}
	errLongHead   = &fault{ClassTooLarge, "response head over the limit of bytes"}
	errManyFields = &fault{ClassTooLarge, "response head over the limit of header lines"}
	errLongChunk  = &fault{ClassTooLarge, "chunk size line of 4096 bytes or more"}
	errLongBody   = &fault{ClassTooLarge, "response body over the limit of bytes"}
)

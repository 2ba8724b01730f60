package engine

import (
	"errors"
	"io"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// errCut is the end of a connection over TLS that nobody announced: everybody on the way can make it.
// It is also an io.ErrUnexpectedEOF.
var errCut error = cutError{}

type cutError struct{}

func (cutError) Error() string {
	return "the connection ended without TLS's close_notify in the middle of an answer, or of one without a length: bytes may be missing"
}

// Class is that of a cut answer.
func (cutError) Class() string { return ClassTruncated }

func (cutError) Unwrap() error { return io.ErrUnexpectedEOF }

// ending is how a connection over TLS ended, by an error of sock.TLS: nil if it goes on, io.EOF as it
// should, errCut, or a failure of TLS.
func ending(err error) error {
	switch {
	case err == nil, err == io.EOF:
		return err
	case errors.Is(err, sock.ErrCut):
		return errCut
	}
	return &tlsError{err}
}

// isEnd reports whether an error says that nothing follows, and no more. The frames of a mux have lengths, so they need no
// close_notify.
func isEnd(err error) bool { return err == io.EOF || err == errCut }

// TLSEnding is the error of a read above TLS for a client that uses crypto/tls: err of TLS, and below of
// the connection that carries TLS, nil if that had none.
func TLSEnding(err, below error) error {
	switch {
	case err == nil, below != nil && below != io.EOF:
		return err
	case below == io.EOF:
		return errCut
	}
	return ending(err)
}

// parse reads on in an answer. end: nothing follows in, and why, see ending. What breaks behind a complete
// answer does not fail it. The error is for an answer that is not complete, or only by an end that nobody
// announced.
func parse(c takt.Codec, in []byte, end error, r *takt.Result) (n int, p takt.Progress, err error) {
	n, p = c.Parse(in, end == io.EOF, r)
	switch {
	case p != takt.More || end == nil:
		return n, p, nil
	case end == io.EOF:
		return n, p, io.ErrUnexpectedEOF // the codec wants more bytes, but there are none
	case end != errCut:
		return n, p, end
	}
	more, p := c.Parse(in[n:], true, r)
	if p == takt.More || r.Class == "" {
		return n + more, p, errCut
	}
	return n + more, p, nil
}

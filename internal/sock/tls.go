package sock

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
)

// TLS is the client side of TLS for a thread that serves many sockets and may wait in none of them:
// after the handshake the caller moves the bytes, and TLS works in memory. The handshake is blocking and may run in a goroutine of its own; all
// other methods are for one thread, after Detach, and never wait.
type TLS struct {
	wire wire
	tls  *tls.Conn
}

// NewTLS returns TLS over c, whose handshake is still to be made. conf has a ServerName, or
// says that none is checked.
func NewTLS(c net.Conn, conf *tls.Config) *TLS {
	conf = conf.Clone()
	conf.DynamicRecordSizingDisabled = true // small records first would cost a large request more of them
	s := &TLS{wire: wire{conn: c, local: c.LocalAddr(), remote: c.RemoteAddr()}}
	s.tls = tls.Client(&s.wire, conf)
	return s
}

// Handshake makes the handshake over the connection, which it closes when it fails.
func (s *TLS) Handshake(ctx context.Context) error {
	err := s.tls.HandshakeContext(ctx)
	if err != nil {
		_ = s.wire.conn.Close() // the handshake's error is the cause
	}
	return err
}

// Detach gives the connection back. From now on the caller moves the bytes between its socket
// and Open and Out.
func (s *TLS) Detach() net.Conn {
	c := s.wire.conn
	s.wire.conn = nil
	return c
}

// State is what the handshake agreed on.
func (s *TLS) State() tls.ConnectionState { return s.tls.ConnectionState() }

// ErrCut is the error of Open for a connection that ended although the other side has not said so,
// between two records or within one.
var ErrCut = errors.New("the connection ended without close_notify")

// Open appends to dst what the received bytes in contain, decrypted. eof: the connection ended
// after in. The error is io.EOF when the other side has said that nothing follows, ErrCut, or a failure
// of TLS; plain is what came before it. Open may add to Out, such as the answer to a new key.
func (s *TLS) Open(dst, in []byte, eof bool) (plain []byte, err error) {
	s.wire.feed(in, eof)
	defer s.wire.keep()
	for {
		if cap(dst)-len(dst) < bytesFree {
			dst = slices.Grow(dst, maxPlain)
		}
		n, err := s.tls.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case err == errEmpty:
			return dst, nil
		case err != nil && s.wire.cut:
			return dst, ErrCut
		case err != nil:
			return dst, err
		}
	}
}

// Seal encrypts b and adds it to Out.
func (s *TLS) Seal(b []byte) error {
	_, err := s.tls.Write(b)
	return err
}

// Close adds to Out that nothing follows. The error does not matter to a caller that closes
// its socket.
func (s *TLS) Close() error { return s.tls.CloseWrite() }

// Out are the bytes for the socket. They change with each call of another method.
func (s *TLS) Out() []byte { return s.wire.out[s.wire.sent:] }

// Sent says that the socket took the first n bytes of Out.
func (s *TLS) Sent(n int) {
	w := &s.wire
	if w.sent += n; w.sent == len(w.out) {
		w.out, w.sent = w.out[:0], 0
		if cap(w.out) > mostKept {
			w.out = nil
		}
	}
}

const (
	maxPlain  = 16 << 10 // plaintext of a record (RFC 8446, section 5.1)
	bytesFree = 1 << 10  // room for a read; a record that does not fit needs another
	mostKept  = 32 << 10 // largest buffer that a connection keeps between two requests
)

// empty says that a whole record is not here yet. crypto/tls keeps such an error to itself only
// if it is temporary; any other would end the connection.
type empty struct{}

func (empty) Error() string   { return "no whole record is here yet" }
func (empty) Timeout() bool   { return true }
func (empty) Temporary() bool { return true }

var errEmpty net.Error = empty{}

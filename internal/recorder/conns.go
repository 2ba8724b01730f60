package recorder

import (
	"io"
	"net"
	"sync"
)

// limited is a listener whose connections are at most as many as free has places.
type limited struct {
	net.Listener
	free chan struct{}
	over <-chan struct{} // nobody accepts any more
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.over:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: c, leave: sync.OnceFunc(func() { <-l.free })}, nil
}

// counted gives its place back when it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// handed is a listener that gets its connections from hand.
type handed struct {
	addr  net.Addr
	conns chan net.Conn
	over  <-chan struct{} // nobody accepts any more
}

func (h *handed) hand(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.over:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.over:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handed) Close() error { return nil }

// Addr implements net.Listener.
func (h *handed) Addr() net.Addr { return h.addr }

// decryptedConn is a connection of the inner server. It hides the TLS, so that the server reads requests at once.
type decryptedConn struct {
	net.Conn
	host string // HOST:PORT that the client asked for
}

// pass passes bytes both ways until both have ended, or one fails.
func pass(a, b net.Conn) {
	over := make(chan struct{}, 2)
	one := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		} else {
			_ = to.Close()
		}
		over <- struct{}{}
	}
	go one(a, b)
	go one(b, a)
	<-over
	<-over
}

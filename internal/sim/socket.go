package sim

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/sock"
)

// socket is a blocking connection, as in package net.
type socket struct {
	sock.Arrivals
	w        *world
	c        *conn
	deadline time.Duration
	given    bool // a deadline was set since the dial, so the dial's context no longer counts
	canceled bool // the dial's context has ended
	shaken   bool // the client has computed its part of the handshake
	undo     func() bool
}

// Connect implements engine.World.
func (w *world) Connect(ctx context.Context, network, _ string) (net.Conn, error) {
	failed := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(address), Err: err}
	}
	w.spend(callConnect)
	c, err := w.net.connect()
	if err != nil {
		w.note("connect", -1, 0)
		return failed(err)
	}
	w.note("connect", c.fd, 0)
	s := &socket{w: w, c: c, deadline: never}
	if at, ok := ctx.Deadline(); ok {
		s.deadline = at.Sub(w.base)
	}
	s.undo = w.onEnd(ctx, func() {
		s.canceled = true
		s.disturb()
	})
	for c.state == connecting {
		if err := s.expired(); err != nil {
			_ = s.Close()
			return failed(err)
		}
		s.wait(true)
	}
	if c.state == refused {
		_ = s.Close()
		return failed(c.err)
	}
	s.Begin(w, w.Now())
	return s, nil
}

// expired is the error of a call whose deadline has passed, or whose dial was canceled.
func (s *socket) expired() error {
	switch {
	case s.canceled && !s.given:
		return context.Canceled
	case s.w.cur.at >= s.deadline:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// wait waits until s can be read from, or written to, but at most until its deadline.
func (s *socket) wait(write bool) {
	s.c.waiter, s.c.writes = s.w.cur, write
	s.w.wait(s.deadline)
	s.c.waiter = nil
}

// disturb ends a wait, because the deadline has changed.
func (s *socket) disturb() {
	if t := s.c.waiter; t != nil {
		s.w.wake(t)
	}
}

// closed reports whether s was closed. A call on a closed socket is a fault of the engine.
func (s *socket) closed(call string) bool {
	if s.c.gone {
		s.w.report.fault("descriptor", "%s of %d, which is closed", call, s.c.fd)
	}
	return s.c.gone
}

// RTT is for sock.PathRTT.
func (s *socket) RTT() time.Duration { return s.c.rtt }

// Read implements net.Conn.
func (s *socket) Read(b []byte) (n int, err error) {
	n, err = s.call("read", callRead, false, func() (int, syscall.Errno) {
		n, stamp, errno := s.c.read(b, true)
		if errno == 0 {
			s.Note(n, stamp)
		}
		return n, errno
	})
	if !s.shaken && n > 0 && s.w.sc.Handshake > 0 {
		s.shaken = true
		s.w.spend(s.w.sc.Handshake)
	}
	return n, err
}

// Write implements net.Conn.
func (s *socket) Write(b []byte) (sum int, err error) {
	for len(b) > 0 && err == nil {
		var n int
		n, err = s.call("write", callSend, true, func() (int, syscall.Errno) { return s.w.net.send(s.c, b) })
		sum += n
		b = b[n:]
	}
	return sum, err
}

// call makes a blocking call as Go's poller does: only the first try checks the deadline before it,
// so bytes that are there when the thread wakes are read, even after the deadline.
func (s *socket) call(name string, takes time.Duration, write bool, do func() (int, syscall.Errno)) (int, error) {
	failed := func(err error) (int, error) { return 0, &net.OpError{Op: name, Net: "tcp", Err: err} }
	if s.closed(name) {
		return failed(net.ErrClosed)
	}
	for first := true; ; first = false {
		if err := s.expired(); first && err != nil {
			return failed(err)
		}
		s.w.spend(takes)
		n, errno := do()
		s.w.note(name, s.c.fd, n<<8+int(errno))
		switch {
		case errno == sock.Again:
		case errno != 0:
			return failed(os.NewSyscallError(name, errno))
		case n == 0 && !write:
			return 0, io.EOF
		default:
			return n, nil
		}
		if err := s.expired(); err != nil {
			return failed(err)
		}
		s.wait(write)
	}
}

// Peek lets the engine look at unread bytes of this kind of socket.
func (s *socket) Peek(b []byte) (int, error) {
	if s.closed("peek") {
		return 0, net.ErrClosed
	}
	s.w.net.srv.looks++
	s.w.spend(callMiss)
	n, _, errno := s.c.read(b, false)
	s.w.note("peek", s.c.fd, n<<8+int(errno))
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

// Close implements net.Conn.
func (s *socket) Close() error {
	if s.closed("close") {
		return net.ErrClosed
	}
	s.undo()
	s.w.spend(callOther)
	s.w.note("close", s.c.fd, 0)
	s.w.net.close(s.c.fd)
	return nil
}

// SetDeadline implements net.Conn. It spends no virtual time, because an interrupt calls it under
// a lock.
func (s *socket) SetDeadline(t time.Time) error {
	if s.closed("deadline") {
		return net.ErrClosed
	}
	s.undo()
	s.deadline, s.given = t.Sub(s.w.base), true
	if t.IsZero() {
		s.deadline = never
	}
	s.disturb()
	return nil
}

// SetReadDeadline implements net.Conn.
func (s *socket) SetReadDeadline(t time.Time) error { return s.SetDeadline(t) }

// SetWriteDeadline implements net.Conn. TLS sets one before its closing alert, and closes then.
func (s *socket) SetWriteDeadline(t time.Time) error { return s.SetDeadline(t) }

// LocalAddr implements net.Conn.
func (s *socket) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (s *socket) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(address) }

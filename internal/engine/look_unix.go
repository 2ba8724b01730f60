//go:build unix

package engine

import (
	"net"
	"os"
	"syscall"
)

// looker looks into the socket of an idle connection.
type looker struct {
	raw  syscall.RawConn
	soft peeker           // in place of raw
	peek func(fd uintptr) // made once: each would allocate
	n    int              // bytes that the last look found
	err  error            // of the last look
	b    [sampleBytes]byte
}

// peeker is a connection that is no socket of this machine's. Peek reads what has come and
// leaves it there; if nothing has, its error is syscall.EAGAIN.
type peeker interface {
	Peek(b []byte) (int, error)
}

// attach makes l look into the socket of c; where there is none it sees nothing.
func (l *looker) attach(c net.Conn) {
	l.raw = nil
	l.soft, _ = c.(peeker)
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := s.SyscallConn(); err == nil {
		l.raw = raw
	}
	if l.peek == nil {
		l.peek = func(fd uintptr) {
			l.n, _, l.err = syscall.Recvfrom(int(fd), l.b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		}
	}
}

// look returns nothing if the connection is as an idle one should be: open, and nothing
// to read. Else it says why not, and what lies in the socket.
func (l *looker) look() ([]byte, error) {
	var err error
	switch {
	case l.raw != nil:
		err = l.raw.Control(l.peek)
	case l.soft != nil:
		l.n, l.err = l.soft.Peek(l.b[:])
	default:
		return nil, nil // the next read or write tells
	}
	switch {
	case err != nil:
		return nil, err
	case l.err == syscall.EAGAIN:
		return nil, nil
	case l.err != nil:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", l.err)}
	case l.n == 0:
		return nil, errEnded
	}
	return l.b[:l.n], ErrUnsolicited
}

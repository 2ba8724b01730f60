//go:build unix

package engine

import (
	"net"
	"os"
	"syscall"

	"github.com/taktload/takt/internal/sock"
)

// looker looks into the socket of an idle connection.
type looker struct {
	raw  syscall.RawConn
	soft peeker           // used instead of raw in a simulation
	peek func(fd uintptr) // one closure for all looks: each new one would allocate
	n    int              // number of bytes that the last look found
	err  error            // error of the last look
	b    [sampleBytes]byte
}

// peeker is a connection without a socket of this machine. Peek returns received bytes
// without consuming them, or syscall.EAGAIN if there are none.
type peeker interface {
	Peek(b []byte) (int, error)
}

// attach makes l look into the socket of c. Without a socket l sees nothing.
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
			n, errno := sock.Peek(int(fd), l.b[:])
			if l.n, l.err = n, nil; errno != 0 {
				l.err = errno
			}
		}
	}
}

// look returns nil if the idle connection is open and has nothing to read. Otherwise it
// returns the reason and the received bytes.
func (l *looker) look() ([]byte, error) {
	var err error
	switch {
	case l.raw != nil:
		err = l.raw.Control(l.peek)
	case l.soft != nil:
		l.n, l.err = l.soft.Peek(l.b[:])
	default:
		return nil, nil // the next read or write finds a closed connection
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

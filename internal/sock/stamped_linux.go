package sock

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Stamped is c with reads that note when the bytes came to this host; Arrived returns that
// instant. The other side is not to blame for bytes that lie in the socket because nothing
// here had time to read them. Stamped returns c if c is not a TCP connection or has no
// stamps.
func Stamped(c net.Conn) net.Conn {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return c
	}
	s := newStamped(t, raw, syscall.Syscall)
	if !s.stamps {
		return c
	}
	return s
}

// syscaller is syscall.Syscall, or RawSyscall, which the Go scheduler does not notice.
type syscaller func(trap, a1, a2, a3 uintptr) (r1, r2 uintptr, errno syscall.Errno)

type stamped struct {
	*net.TCPConn
	raw    syscall.RawConn
	call   syscaller
	try    func(fd uintptr) bool // reads, and reports false if it would have to wait
	now    func(fd uintptr) bool // try once, without waiting
	stamps bool                  // the kernel stamps received bytes
	Arrivals

	mu       sync.Mutex // held by one reader at a time
	receiver Receiver
	in       []byte
	n        int // bytes read by the last call
	stamp    int64
	errno    syscall.Errno
}

func newStamped(t *net.TCPConn, raw syscall.RawConn, call syscaller) *stamped {
	s := &stamped{TCPConn: t, raw: raw, call: call}
	s.Begin(HostClock{}, time.Now())
	s.try = s.receive // one closure for all calls: each new one would allocate
	s.now = func(fd uintptr) bool { s.receive(fd); return true }
	// Without stamps bytes count as arrived when they are read.
	_ = raw.Control(func(fd uintptr) { s.stamps = Stamp(int(fd)) == nil })
	return s
}

func (s *stamped) receive(fd uintptr) bool {
	s.n, s.stamp, s.errno = s.receiver.receive(s.call, int(fd), s.in)
	return s.errno != Again
}

// Read implements net.Conn.
func (s *stamped) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in = b
	err := s.raw.Read(s.try)
	s.in = nil
	switch {
	case err == nil && s.errno != 0:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: os.NewSyscallError("read", s.errno)}
	case err != nil:
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			op.Op = "read"
		}
		return 0, err
	}
	s.Note(s.n, s.stamp)
	if s.n == 0 {
		return 0, io.EOF
	}
	return s.n, nil
}

// Look reads bytes that arrive within most. It spins instead of sleeping, and yields the core
// between two tries. It returns 0 if no bytes came; the next Read returns an error or the
// end. b must not be empty.
func (s *stamped) Look(b []byte, most time.Duration) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in = b
	defer func() { s.in = nil }()
	for start := time.Now(); time.Since(start) < most; {
		switch err := s.raw.Read(s.now); {
		case err != nil || s.errno != 0 && s.errno != Again:
			return 0
		case s.errno == 0:
			s.Note(s.n, s.stamp)
			return s.n
		}
		_, _, _ = syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // never fails
	}
	return 0
}

// Arrived is when the last bytes read from c came to this host; the zero time: unknown. It
// looks below TLS, and below any type with a method NetConn.
func Arrived(c net.Conn) time.Time {
	at, _ := ArrivedOff(c)
	return at
}

// ArrivedOff is Arrived with the largest error of the instant.
func ArrivedOff(c net.Conn) (at time.Time, off time.Duration) {
	for {
		switch of := c.(type) {
		case interface {
			Arrived() (time.Time, time.Duration)
		}:
			return of.Arrived()
		case interface{ NetConn() net.Conn }:
			c = of.NetConn()
		default:
			return time.Time{}, 0
		}
	}
}

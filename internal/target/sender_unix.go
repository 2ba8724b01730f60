//go:build unix

package target

import "syscall"

// sender writes to a connection without ever waiting for its client.
type sender struct {
	raw  syscall.RawConn
	step func(fd uintptr) bool // made once: a closure for every answer would be an allocation
	data []byte
	sent int
}

func newSender(raw syscall.RawConn) *sender {
	s := &sender{raw: raw}
	s.step = func(fd uintptr) bool {
		n, err := syscall.Write(int(fd), s.data)
		s.sent = max(n, 0)
		if err != nil && err != syscall.EAGAIN && err != syscall.EINTR {
			s.sent = len(s.data) // the client is gone: nothing is left to do
		}
		return true // do not wait
	}
	return s
}

// try writes as much of b as the socket takes at once and says how much that was.
func (s *sender) try(b []byte) int {
	s.data, s.sent = b, len(b)
	_ = s.raw.Write(s.step) // fails when the connection is closed: nothing is left to do
	return s.sent
}

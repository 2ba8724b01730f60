//go:build unix

package engine

import (
	"crypto/tls"
	"net"
	"syscall"
)

// isStale reports whether an idle connection was closed by the other side, or
// has bytes waiting that nobody asked for.
func isStale(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	stale := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		stale = err != syscall.EAGAIN // nothing to read is what an idle connection should say
	})
	return stale || err != nil
}

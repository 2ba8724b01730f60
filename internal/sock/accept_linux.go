package sock

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listener takes over l's socket and closes l. Its connections are for Accept.
func Listener(l *net.TCPListener) (fd int, err error) {
	if fd, err = duplicate(l); err != nil {
		return -1, err
	}
	if err = l.Close(); err != nil {
		Close(fd)
		return -1, err
	}
	if l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		plainPath(fd)
	}
	return fd, nil
}

// Accept accepts a connection that waits at the listener.
func Accept(listener int) (fd int, errno syscall.Errno) {
	for {
		r, _, e := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return -1, e
		}
		// Fails only on a closed connection, which the next read finds.
		_ = unix.SetsockoptInt(int(r), unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		return int(r), 0
	}
}

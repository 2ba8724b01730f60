package sock

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Available reports whether the package works on this system.
const Available = true

// Connect begins a connection to addr and returns its socket. An Event with Write ends the
// attempt; Failure returns its result.
func Connect(addr netip.AddrPort) (fd int, err error) {
	family, sa := sockaddr(addr)
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		Close(fd)
		return -1, os.NewSyscallError("setsockopt", err)
	}
	if addr.Addr().IsLoopback() {
		plainPath(fd)
	}
	if err := unix.Connect(fd, sa); err != nil && err != unix.EINPROGRESS {
		Close(fd)
		return -1, os.NewSyscallError("connect", err)
	}
	return fd, nil
}

// plainPath makes a loopback socket use reno instead of BBR, which paces for a network path
// that does not exist: 3 % of a request's CPU. Without reno nothing changes.
func plainPath(fd int) {
	_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
}

func sockaddr(addr netip.AddrPort) (family int, sa unix.Sockaddr) {
	if ip := addr.Addr().Unmap(); ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: ip.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
}

// Failure is why the connection of Connect failed; nil if it is established.
func Failure(fd int) error {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && n != 0 {
		err = syscall.Errno(n)
	}
	if err != nil {
		return os.NewSyscallError("connect", err)
	}
	return nil
}

// RTT is the shortest round trip that the kernel measured on fd; 0: unknown. The handshake
// counts, so a slow target does not affect RTT. It is unknown after a retransmission, whose round
// trip is shorter than the wait.
func RTT(fd int) time.Duration {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.Min_rtt == ^uint32(0) || info.Total_retrans > 0 {
		return 0
	}
	return time.Duration(info.Min_rtt) * time.Microsecond
}

// PathRTT is the RTT of a connection; 0: unknown.
func PathRTT(c net.Conn) (rtt time.Duration) {
	switch of := c.(type) {
	case interface{ RTT() time.Duration }: // in a simulation
		return of.RTT()
	case syscall.Conn:
		if raw, err := of.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { rtt = RTT(int(fd)) }) // a closed connection has no RTT
		}
	}
	return rtt
}

// Resent is the number of segments that TCP sent again on fd, with those that begin a connection.
func Resent(fd int) uint64 {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil { // a socket of another family
		return 0
	}
	return uint64(info.Total_retrans)
}

// PathResent is the Resent of a connection, if this system tells it.
func PathResent(c syscall.Conn) (n uint64, known bool) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { n = Resent(int(fd)) }) // a closed connection has none
	}
	return n, true
}

// Close closes the socket. Its error is of no use any more.
func Close(fd int) { _ = unix.Close(fd) }

// Send sends what the socket has room for. sendto is 2.6 % cheaper than write. A broken
// connection returns EPIPE without a signal.
func Send(fd int, b []byte) (n int, errno syscall.Errno) {
	for {
		r, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		if e == 0 {
			return int(r), 0
		}
		if e != unix.EINTR {
			return 0, e
		}
	}
}

// Receive reads the bytes that are here; 0 bytes without an error mean the end.
func Receive(fd int, b []byte) (n int, errno syscall.Errno) {
	return receive(fd, b, unix.MSG_DONTWAIT)
}

func receive(fd int, b []byte, flags uintptr) (n int, errno syscall.Errno) {
	for {
		r, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags, 0, 0)
		if e == 0 {
			return int(r), 0
		}
		if e != unix.EINTR {
			return 0, e
		}
	}
}

// Peek is Receive, but leaves the bytes in the socket.
func Peek(fd int, b []byte) (n int, errno syscall.Errno) {
	return receive(fd, b, unix.MSG_DONTWAIT|unix.MSG_PEEK)
}

// Duplicate makes a second descriptor of c's connection, so that c can be closed. It is as one of
// Connect.
func Duplicate(c *net.TCPConn) (fd int, err error) {
	fd, err = duplicate(c)
	if to, ok := c.RemoteAddr().(*net.TCPAddr); err == nil && ok && to.IP.IsLoopback() {
		plainPath(fd)
	}
	return fd, err
}

func duplicate(c syscall.Conn) (fd int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd = -1
	if ctl := raw.Control(func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) }); ctl != nil {
		return -1, ctl
	}
	return fd, err
}

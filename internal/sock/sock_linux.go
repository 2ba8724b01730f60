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

// Available reports whether this system has what the package needs.
const Available = true

// Connect begins a connection to addr and returns its socket. That it stands shows
// in an Event with Write, and whether it does in Failure.
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

// plainPath takes a socket on the loopback away from BBR, which paces and models a path
// that is not there: 3 % of a request's CPU. Where there is no reno nothing changes.
func plainPath(fd int) {
	_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
}

func sockaddr(addr netip.AddrPort) (family int, sa unix.Sockaddr) {
	if ip := addr.Addr().Unmap(); ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: ip.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
}

// Failure is why the connection that began with Connect did not come to stand, nil
// when it does.
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

// RTT is the least round trip that the kernel has measured on fd; 0: it does not say. The
// handshake is the first, so it does not depend on how fast anybody answers.
func RTT(fd int) time.Duration {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.Min_rtt == ^uint32(0) {
		return 0
	}
	return time.Duration(info.Min_rtt) * time.Microsecond
}

// PathRTT is RTT of a connection.
func PathRTT(c syscall.Conn) (rtt time.Duration) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { rtt = RTT(int(fd)) }) // a closed one has none
	}
	return rtt
}

// Close closes the socket. What it says comes too late for anybody.
func Close(fd int) { _ = unix.Close(fd) }

// Send sends what there is room for. sendto is 2.6 % cheaper than write in a loop
// of both. A broken connection gives EPIPE and no signal.
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

// Receive reads what is there; 0 bytes without an error are the end.
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

// Peek is Receive that leaves the bytes in the socket.
func Peek(fd int, b []byte) (n int, errno syscall.Errno) {
	return receive(fd, b, unix.MSG_DONTWAIT|unix.MSG_PEEK)
}

// Duplicate gives c's connection a descriptor of its own, so that c can be closed.
func Duplicate(c *net.TCPConn) (fd int, err error) { return duplicate(c) }

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

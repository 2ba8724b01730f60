package sock

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stamp makes the kernel stamp bytes that arrive on fd, for a Receiver.
func Stamp(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

// Receiver reads with the kernel's stamps. It belongs to one thread.
type Receiver struct {
	iov     unix.Iovec
	msg     unix.Msghdr
	control [64]byte // a cmsghdr of 16 bytes and a timespec of 16
}

// Receive reads the bytes that are here. stamp is when the last byte arrived, in nanoseconds
// of the wall clock since 1970; 0: unknown.
func (r *Receiver) Receive(fd int, b []byte) (n int, stamp int64, errno syscall.Errno) {
	return r.receive(syscall.RawSyscall, fd, b)
}

// receive is Receive with the given system call function.
func (r *Receiver) receive(call func(trap, a1, a2, a3 uintptr) (uintptr, uintptr, syscall.Errno), fd int, b []byte) (n int, stamp int64, errno syscall.Errno) {
	r.iov.Base = unsafe.SliceData(b)
	r.iov.SetLen(len(b))
	r.msg.Iov, r.msg.Iovlen = &r.iov, 1
	for {
		r.msg.Control = &r.control[0]
		r.msg.SetControllen(len(r.control))
		got, _, e := call(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.msg)), unix.MSG_DONTWAIT)
		if e == 0 {
			return int(got), r.stamp(), 0
		}
		if e != unix.EINTR {
			return 0, 0, e
		}
	}
}

func (r *Receiver) stamp() int64 {
	if r.msg.Controllen < unix.SizeofCmsghdr+16 {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SO_TIMESTAMPNS {
		return 0
	}
	ts := (*unix.Timespec)(unsafe.Pointer(&r.control[unix.SizeofCmsghdr]))
	return pretend(ts.Nano())
}

// Offset is the reading of clock at start, in nanoseconds. Of five pairs of readings the
// tightest counts: a preemption between the two clocks would shift every instant.
func Offset(start time.Time, clock int32) (offset int64) {
	tightest := time.Duration(1<<63 - 1)
	for range 5 {
		var ts unix.Timespec
		before := time.Since(start)
		if unix.ClockGettime(clock, &ts) != nil {
			continue // cannot fail with this clock
		}
		if gap := time.Since(start) - before; gap < tightest {
			tightest, offset = gap, ts.Nano()-int64(before+gap/2)
		}
	}
	return offset
}

package sock

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// KeepStamps makes the kernel stamp packets from now on until done is called. It waits for
// that, at most for patience, and reports whether it succeeded.
//
// The kernel starts to stamp when the first socket of the machine asks for it, but a kernel
// thread does the switch. On a busy machine that took 90 ms. Until then the kernel
// passes the instant of reading as the stamp, so an answer that waited unread looks as if it
// had come late.
func KeepStamps(patience time.Duration) (done func(), ok bool) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return func() {}, false
	}
	done = func() { unix.Close(fd) }
	var own unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err = unix.Bind(fd, own); err == nil {
		own, err = unix.Getsockname(fd)
	}
	if err == nil {
		err = unix.Connect(fd, own)
	}
	if err == nil {
		err = Stamp(fd)
	}
	for end := monotonic() + patience; err == nil; {
		var stamped bool
		if stamped, err = stampedOnArrival(fd); stamped {
			return done, true
		}
		if monotonic() > end {
			break
		}
		ts := unix.NsecToTimespec(int64(time.Millisecond))
		_ = unix.Nanosleep(&ts, nil) // not time.Sleep: time may be a test's
	}
	return done, false
}

// stampedOnArrival sends a packet from fd to itself, and reports whether its stamp is older
// than the end of the sending.
func stampedOnArrival(fd int) (bool, error) {
	if _, err := unix.Write(fd, []byte{0}); err != nil {
		return false, err
	}
	var sent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &sent); err != nil {
		return false, err
	}
	var r Receiver
	var b [1]byte
	_, stamp, errno := r.receive(syscall.RawSyscall, fd, b[:])
	if errno != 0 {
		return false, errno
	}
	return stamp != 0 && stamp <= pretend(sent.Nano()), nil
}

func monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // the clock exists
	return time.Duration(ts.Nano())
}

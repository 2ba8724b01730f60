package sock

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wakeToken is the token of the poller's own descriptor, to which Wake writes.
const wakeToken = -1

// Poller waits for many sockets. Other threads may call only Wake.
type Poller struct {
	epoll, wake, timer int // timer: -1 if the kernel waits with nanosecond precision
	events             [128]unix.EpollEvent
}

// NewPoller makes a Poller. Kernels before 5.11 round epoll's wait up to milliseconds, so the
// Poller then uses a timer descriptor.
func NewPoller() (*Poller, error) { return newPoller(hasPwait2()) }

func newPoller(nanoseconds bool) (*Poller, error) {
	p := &Poller{epoll: -1, wake: -1, timer: -1}
	var err error
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if p.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		p.Close()
		return nil, os.NewSyscallError("eventfd", err)
	}
	if err = p.control(unix.EPOLL_CTL_ADD, p.wake, wakeToken, unix.EPOLLIN); err != nil {
		p.Close()
		return nil, err
	}
	if !nanoseconds {
		if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err == nil {
			err = p.control(unix.EPOLL_CTL_ADD, p.timer, wakeToken, unix.EPOLLIN)
		}
		if err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// hasPwait2 calls epoll_pwait2 with an invalid descriptor. A kernel that knows the call
// returns EBADF; one that does not, or a filter, returns another error.
func hasPwait2() bool {
	var ev unix.EpollEvent
	var ts unix.Timespec
	_, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, ^uintptr(0), uintptr(unsafe.Pointer(&ev)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0)
	return e == unix.EBADF
}

// Close closes the poller, but not the sockets.
func (p *Poller) Close() {
	for _, fd := range []int{p.epoll, p.wake, p.timer} {
		if fd >= 0 {
			Close(fd)
		}
	}
}

func (p *Poller) control(op, fd int, token int32, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: token}))
}

const readable = unix.EPOLLIN | unix.EPOLLRDHUP

// Add watches fd for reading, and for writing if write. Closing a socket removes it.
func (p *Poller) Add(fd int, token int32, write bool) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, token, interest(write))
}

// Watch changes whether fd is watched for writing.
func (p *Poller) Watch(fd int, token int32, write bool) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, token, interest(write))
}

// Mute stops watching fd for reading until Watch; write: still for writing. Without Mute a
// socket at its end would cause events for ever.
func (p *Poller) Mute(fd int, token int32, write bool) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, token, interest(write)&^readable)
}

// Remove undoes Add. It cannot fail for an added socket.
func (p *Poller) Remove(fd int) { _ = p.control(unix.EPOLL_CTL_DEL, fd, 0, 0) }

func interest(write bool) uint32 {
	if write {
		return readable | unix.EPOLLOUT
	}
	return readable
}

// Wake ends a wait, now or the next one.
func (p *Poller) Wake() {
	one := [8]byte{1}
	_, _ = unix.Write(p.wake, one[:]) // fails only after 2⁶⁴ wakes
}

// Wait waits up to d, 0 for not at all, and fills events. It may return early with no events:
// the runtime's preemption signal interrupts it.
func (p *Poller) Wait(d time.Duration, events []Event) (n int) {
	d = min(max(0, d), MaxWait)
	limit := min(len(events), len(p.events))
	var got uintptr
	var e syscall.Errno
	if p.timer < 0 || d == 0 {
		ts := unix.NsecToTimespec(int64(d))
		if p.timer < 0 {
			got, _, e = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events[0])), uintptr(limit), uintptr(unsafe.Pointer(&ts)), 0, 0)
		} else {
			got, _, e = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events[0])), uintptr(limit), 0, 0, 0)
		}
	} else {
		p.arm(d)
		got, _, e = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events[0])), uintptr(limit), uintptr(MaxWait.Milliseconds()), 0, 0)
	}
	if e != 0 {
		return 0
	}
	return p.take(int(got), events)
}

// take copies the events of sockets and handles the poller's own.
func (p *Poller) take(got int, events []Event) (n int) {
	for _, ev := range p.events[:got] {
		if ev.Fd == wakeToken {
			p.drain()
			continue
		}
		events[n] = Event{
			Token: ev.Fd,
			Read:  ev.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0,
			Write: ev.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0,
		}
		n++
	}
	return n
}

// drain resets the descriptors of Wake and the timer.
func (p *Poller) drain() {
	var b [8]byte
	_, _ = unix.Read(p.wake, b[:])
	if p.timer >= 0 {
		_, _ = unix.Read(p.timer, b[:])
	}
}

func (p *Poller) arm(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	_ = unix.TimerfdSettime(p.timer, 0, &spec, nil) // cannot fail with a time above 0
}

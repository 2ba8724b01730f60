package sock

import (
	"net/netip"
	"syscall"
	"time"
)

// Again says that a call would have to wait.
const Again = syscall.EAGAIN

// Clock reads the two clocks of a machine.
type Clock interface {
	// Since is the time since start by the monotonic clock.
	Since(start time.Time) time.Duration
	// Both is Since and, from the same reading, the wall clock in nanoseconds since 1970.
	Both(start time.Time) (since time.Duration, wall int64)
}

// System is the machine of a thread that serves many sockets itself: a clock, sockets and a
// poller. NewHost is this machine; a simulator has its own System. A System belongs to one
// thread; other threads may call only Wake.
//
// An interface call takes some 2 ns, the system call behind it 250 or more.
type System interface {
	Clock
	// Sleep sleeps for d, or less.
	Sleep(d time.Duration)

	// Connect begins a connection to addr and returns its socket. An Event with Write ends
	// the attempt. Failure is then why it failed, or nil.
	Connect(addr netip.AddrPort) (fd int, err error)
	Failure(fd int) error
	// RTT is the shortest round trip that the kernel measured on fd; 0: unknown.
	RTT(fd int) time.Duration
	// Resent is the number of segments that TCP sent again on fd.
	Resent(fd int) uint64
	// Stamp makes the kernel stamp bytes that arrive on fd, for ReceiveStamped.
	Stamp(fd int) error
	// Send sends what the socket has room for.
	Send(fd int, b []byte) (n int, errno syscall.Errno)
	// Receive reads the bytes that are here; 0 bytes without an error mean the end.
	Receive(fd int, b []byte) (n int, errno syscall.Errno)
	// ReceiveStamped is Receive and the arrival of the last byte, in nanoseconds of the wall
	// clock since 1970; 0: unknown.
	ReceiveStamped(fd int, b []byte) (n int, stamp int64, errno syscall.Errno)
	// Peek is Receive, but leaves the bytes in the socket.
	Peek(fd int, b []byte) (n int, errno syscall.Errno)
	Close(fd int)

	// Add watches fd for reading, and for writing if write. Closing a socket removes it.
	Add(fd int, token int32, write bool) error
	// Watch changes whether fd is watched for writing.
	Watch(fd int, token int32, write bool) error
	// Remove undoes Add.
	Remove(fd int)
	// Wait waits up to d for ready sockets and fills events. It may return early with no
	// events.
	Wait(d time.Duration, events []Event) (n int)
	// Wake ends a wait, now or the next one.
	Wake()
	// End closes the poller, but not the sockets.
	End()
}

// HostClock is this machine's clock.
type HostClock struct{}

// Since implements Clock.
func (HostClock) Since(start time.Time) time.Duration { return time.Since(start) }

// Both implements Clock.
func (HostClock) Both(start time.Time) (since time.Duration, wall int64) {
	now := time.Now()
	return now.Sub(start), wallOf(now)
}

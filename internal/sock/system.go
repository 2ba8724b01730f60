package sock

import (
	"net/netip"
	"syscall"
	"time"
)

// Again says that a call would have had to wait.
const Again = syscall.EAGAIN

// Clock reads the two clocks of a machine.
type Clock interface {
	// Since is the time that has passed since start, by the clock that nobody sets.
	Since(start time.Time) time.Duration
	// Both is Since, and in the same reading the wall clock in nanoseconds since 1970.
	Both(start time.Time) (since time.Duration, wall int64)
}

// System is what a thread that serves many sockets by itself asks of its machine: a clock,
// sockets and the poller that waits for them. NewHost has this machine's; a simulator has
// its own. A System belongs to one thread; only Wake may be called by others.
//
// An interface call takes some 2 ns, and the system call behind it 250 or more.
type System interface {
	Clock
	// Sleep sleeps for d, or less.
	Sleep(d time.Duration)

	// Connect begins a connection to addr and returns its socket. An Event with Write says
	// that the attempt is over, and Failure why it failed; nil: it did not.
	Connect(addr netip.AddrPort) (fd int, err error)
	Failure(fd int) error
	// RTT is the least round trip that the kernel has measured on fd; 0: it does not say.
	RTT(fd int) time.Duration
	// Stamp makes the kernel note when bytes arrive on fd, for ReceiveStamped.
	Stamp(fd int) error
	// Send sends what there is room for.
	Send(fd int, b []byte) (n int, errno syscall.Errno)
	// Receive reads what is there; 0 bytes without an error are the end.
	Receive(fd int, b []byte) (n int, errno syscall.Errno)
	// ReceiveStamped is Receive, and tells when the last of the bytes arrived, in the wall
	// clock's nanoseconds since 1970; 0: the kernel does not say.
	ReceiveStamped(fd int, b []byte) (n int, stamp int64, errno syscall.Errno)
	// Peek is Receive that leaves the bytes in the socket.
	Peek(fd int, b []byte) (n int, errno syscall.Errno)
	Close(fd int)

	// Add watches fd, for reading always and for writing if asked. Closing a socket ends it.
	Add(fd int, token int32, write bool) error
	// Watch changes whether room for writing is of interest.
	Watch(fd int, token int32, write bool) error
	// Remove undoes Add.
	Remove(fd int)
	// Wait waits up to d for sockets that are ready, and fills events. It may return early
	// with none.
	Wait(d time.Duration, events []Event) (n int)
	// Wake ends a wait, now or the next one.
	Wake()
	// End gives up the poller, but not the sockets.
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

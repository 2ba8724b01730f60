package target

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/taktload/takt/internal/sock"
)

// alarm wakes the dispatcher at an instant, to the precision of the kernel
// (about 30 µs), or when it rings. Go's own timers are rounded up to whole
// milliseconds. The sleep is a futex wait with an absolute end: that is
// clock_nanosleep which others can end. It leaves its P to other goroutines:
// keeping it (RawSyscall) saved 20 µs of CPU a request at 1000/s and nothing at
// 20 000/s, was no more exact, and stops everything when there is a single P.
type alarm struct {
	rings  atomic.Uint32
	origin int64 // CLOCK_MONOTONIC at the first request, ns
}

// nap is one sleep: until an instant of CLOCK_MONOTONIC in ns (0: as long as may
// be), unless the alarm has rung since.
type nap struct {
	until int64
	rings uint32
}

// Futex operations, from linux/futex.h: private to the process, the end absolute
// on CLOCK_MONOTONIC.
const (
	futexWait = 9 | 128
	futexWake = 1 | 128
	futexAny  = 1<<32 - 1
)

// maxNap bounds a sleep: a clock that goes wrong then costs a second at most.
const maxNap = time.Second

func newAlarm() *alarm { return &alarm{} }

// begin says what instants count from.
func (a *alarm) begin(origin time.Time) {
	a.origin = sock.Offset(origin, unix.CLOCK_MONOTONIC)
}

// enter prepares the dispatcher's goroutine. Its thread ends with it, for it is
// never unlocked, so its timer slack harms nobody else.
func (a *alarm) enter() {
	runtime.LockOSThread()
	sock.Unslack()
}

// nap is to be called under the lock that admits requests: a ring afterwards
// ends the nap even before it began.
func (a *alarm) nap(until time.Duration) nap {
	n := nap{rings: a.rings.Load()}
	if until != forever {
		n.until = a.origin + int64(until)
	}
	return n
}

// ring wakes the dispatcher.
func (a *alarm) ring() {
	a.rings.Add(1)
	_, _, _ = unix.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&a.rings)), futexWake, 1)
}

// sleep sleeps n, or a part of it.
func (a *alarm) sleep(n nap) {
	now := monotonic()
	end := now + int64(maxNap)
	if n.until != 0 {
		end = min(end, n.until)
	}
	ts := unix.NsecToTimespec(end)
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&a.rings)), futexWait, uintptr(n.rings), uintptr(unsafe.Pointer(&ts)), 0, futexAny)
}

// monotonic reads the clock that futexes wait by.
func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail: the clock exists
	return ts.Nano()
}

package sock

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Unslack makes the sleeps of the calling thread as exact as its timers. By default the
// kernel may add 50 µs to each sleep.
func Unslack() { _, _, _ = syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0) }

// Sleep sleeps for d, or less: the runtime's preemption signal interrupts it.
func Sleep(d time.Duration) {
	if d = min(d, MaxWait); d <= 0 {
		return
	}
	ts := unix.NsecToTimespec(int64(d))
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

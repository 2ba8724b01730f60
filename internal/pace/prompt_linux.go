package pace

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/sock"
)

// Prompt waits with a timer of the kernel that wakes Go's poller. It is nearly as exact as Precise, but keeps neither a
// thread nor a P meanwhile, and it returns at once when stop is ready. Without such a timer it is Timer.
func Prompt(start time.Time) Waiter {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return Timer(start)
	}
	file := os.NewFile(uintptr(fd), "timer")
	raw, err := file.SyscallConn()
	if err != nil || file.SetReadDeadline(time.Time{}) != nil { // the poller does not take it
		_ = file.Close()
		return Timer(start)
	}
	w := &prompt{
		timer: timer{start}, base: time.Duration(sock.Offset(start, unix.CLOCK_MONOTONIC)),
		file: file, fd: uintptr(fd), fired: make(chan struct{}, 1),
	}
	go func() {
		// One call for all expiries: one between two calls would be lost. It ends when the file is closed.
		_ = raw.Read(func(uintptr) bool {
			select {
			case w.fired <- struct{}{}:
			default:
			}
			return false
		})
	}()
	return w
}

type prompt struct {
	timer
	base  time.Duration // CLOCK_MONOTONIC at start
	file  *os.File
	fd    uintptr
	fired chan struct{}
}

func (w *prompt) Until(due time.Duration, stop <-chan struct{}) {
	for left := due - w.Now(); left > 0; left = due - w.Now() { // what fired may have been an earlier instant
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(w.base + due))}
		_, _, errno := syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, w.fd, unix.TFD_TIMER_ABSTIME, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
		if errno != 0 {
			pause.For(left, stop)
			return
		}
		select {
		case <-w.fired:
		case <-stop:
			return
		}
	}
}

func (w *prompt) Close() { _ = w.file.Close() }

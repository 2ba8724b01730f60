package screen

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Yield lets all other threads go first on a busy core. The thread of the calling goroutine keeps
// this, so it ends with the goroutine.
func Yield() {
	const lowest = 19
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest) // 0 is the calling thread; fails never for a higher number
}

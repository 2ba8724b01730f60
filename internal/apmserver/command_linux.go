package apmserver

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup makes the child lead a process group, so that what it starts can be stopped
// with it, and has the kernel kill it when the thread ends that started it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits until the process has ended, and leaves it to be reaped.
func awaitExit(pid int) bool {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err == nil
		}
	}
}

// signalGroup asks the group to end, or kills it. That it has ended is no fault.
func signalGroup(pid int, kill bool) {
	s := syscall.SIGTERM
	if kill {
		s = syscall.SIGKILL
	}
	_ = syscall.Kill(-pid, s)
}

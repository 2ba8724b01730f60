package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup makes the child lead a process group, so that its children can be stopped with it.
// The kernel kills the child when the starting thread ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits until the process has ended, without reaping it.
func awaitExit(pid int) bool {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err == nil
		}
	}
}

// signalGroup asks the group to end, or kills it. A group that has ended is no error.
func signalGroup(pid int, kill bool) {
	s := syscall.SIGTERM
	if kill {
		s = syscall.SIGKILL
	}
	_ = syscall.Kill(-pid, s)
}

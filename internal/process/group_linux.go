package process

import (
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup makes the child lead a process group, so that its children can be stopped with it.
// The kernel kills the child when the starting thread ends.
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
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

// pauseGroup stops the group, or lets it go on.
func pauseGroup(pid int, pause bool) error {
	s := syscall.SIGCONT
	if pause {
		s = syscall.SIGSTOP
	}
	return syscall.Kill(-pid, s)
}

// onCPUs starts a process that may use these CPUs only. A process has the CPUs of the thread that
// starts it, so all that it starts has them, too.
func onCPUs(cpus []int, start func() error) error {
	if cpus == nil {
		return start()
	}
	var before, set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("cannot use the CPUs %v: %w", cpus, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }() // cannot fail: the thread had them
	return start()
}

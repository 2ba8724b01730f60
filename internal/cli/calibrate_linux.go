package cli

import (
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU is the CPU time of the calling thread.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// dieWithParent ends the child also when this process is killed.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// ownGroup is dieWithParent, and keeps a Ctrl-C at the parent's terminal from the child:
// the parent tells it to stop, and twice would be at once.
func ownGroup(cmd *exec.Cmd) {
	dieWithParent(cmd)
	cmd.SysProcAttr.Setpgid = true
}

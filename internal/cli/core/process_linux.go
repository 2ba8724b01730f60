package core

import (
	"os/exec"
	"syscall"
)

// DieWithParent makes the kernel kill the child when this process ends, even by SIGKILL.
func DieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// OwnGroup is DieWithParent in a process group of its own, so that Ctrl-C at the terminal does
// not reach the child: the parent interrupts it, and a second signal would abort it.
func OwnGroup(cmd *exec.Cmd) {
	DieWithParent(cmd)
	cmd.SysProcAttr.Setpgid = true
}

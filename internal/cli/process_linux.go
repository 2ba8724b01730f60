package cli

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the child when this process ends, even by SIGKILL.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// ownGroup is dieWithParent in a process group of its own, so that Ctrl-C at the terminal does
// not reach the child: the parent interrupts it, and a second signal would abort it.
func ownGroup(cmd *exec.Cmd) {
	dieWithParent(cmd)
	cmd.SysProcAttr.Setpgid = true
}

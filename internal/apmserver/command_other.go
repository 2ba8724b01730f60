//go:build !linux

package apmserver

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

// awaitExit cannot wait without reaping.
func awaitExit(int) bool { return false }

// signalGroup ends the process alone: other systems have no groups, or other calls for
// them. Here it is only asked to end where it can be.
func signalGroup(pid int, kill bool) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	if kill || p.Signal(os.Interrupt) != nil {
		_ = p.Kill()
	}
}

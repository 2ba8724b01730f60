//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// awaitExit cannot wait without reaping.
func awaitExit(int) bool { return false }

// signalGroup ends only the process: other systems have no groups, or other calls for them.
// Without kill it asks the process to end where that is possible.
func signalGroup(pid int, kill bool) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	if kill || p.Signal(os.Interrupt) != nil {
		_ = p.Kill()
	}
}

// pauseGroup cannot stop a group.
func pauseGroup(int, bool) error { return errors.ErrUnsupported }

// onCPUs cannot choose CPUs.
func onCPUs(cpus []int, start func() error) error {
	if cpus != nil {
		return errors.ErrUnsupported
	}
	return start()
}

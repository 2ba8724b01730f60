//go:build !linux

package cli

import (
	"os/exec"
	"time"
)

// threadCPU is unknown on this system.
func threadCPU() time.Duration { return 0 }

// dieWithParent works on Linux only: elsewhere a child outlives a killed parent.
func dieWithParent(*exec.Cmd) {}

// ownGroup works on Linux only.
func ownGroup(*exec.Cmd) {}

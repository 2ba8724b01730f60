//go:build !linux

package cli

import (
	"os/exec"
	"time"
)

// threadCPU is not known here.
func threadCPU() time.Duration { return 0 }

// dieWithParent is for Linux: elsewhere a child outlives a parent that is killed.
func dieWithParent(*exec.Cmd) {}

// ownGroup is for Linux.
func ownGroup(*exec.Cmd) {}

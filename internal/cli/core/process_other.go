//go:build !linux

package core

import "os/exec"

// DieWithParent works on Linux only: elsewhere a child outlives a killed parent.
func DieWithParent(*exec.Cmd) {}

// OwnGroup works on Linux only.
func OwnGroup(*exec.Cmd) {}

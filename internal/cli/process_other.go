//go:build !linux

package cli

import "os/exec"

// dieWithParent works on Linux only: elsewhere a child outlives a killed parent.
func dieWithParent(*exec.Cmd) {}

// ownGroup works on Linux only.
func ownGroup(*exec.Cmd) {}

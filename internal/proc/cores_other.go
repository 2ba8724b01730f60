//go:build !linux

package proc

import (
	"errors"
	"runtime"
)

// Cores are not known.
func Cores() [][]int { return nil }

// Usable is the number of CPUs.
func Usable() int { return runtime.NumCPU() }

// Pin cannot choose CPUs.
func Pin([]int) (restore func(), err error) { return nil, errors.ErrUnsupported }

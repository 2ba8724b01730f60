//go:build !linux

package proc

// Cores are not known.
func Cores() [][]int { return nil }

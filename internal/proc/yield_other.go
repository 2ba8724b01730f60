//go:build !linux

package proc

// Yield does nothing on this system.
func Yield() {}

//go:build !linux

package screen

// Yield works on Linux only.
func Yield() {}

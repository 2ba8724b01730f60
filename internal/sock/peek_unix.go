//go:build unix && !linux

package sock

import "syscall"

// Peek is Receive without taking the bytes.
func Peek(fd int, b []byte) (n int, errno syscall.Errno) {
	n, _, err := syscall.Recvfrom(fd, b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package outfile

import (
	"errors"
	"os"
	"syscall"
)

// TryLock locks f for this process alone, without waiting. The error is ErrLocked, or
// errors.ErrUnsupported on systems without such locks.
func TryLock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// TryLockShared locks f for all who share it, like TryLock.
func TryLockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		case err != nil:
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		default:
			return nil
		}
	}
}

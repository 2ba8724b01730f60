//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// TryExclusive locks f for this process alone, without waiting. The error is ErrHeld, or
// errors.ErrUnsupported on systems without such locks.
func TryExclusive(f *os.File) error { return try(f, syscall.LOCK_EX) }

// TryShared locks f for all who share it, like TryExclusive.
func TryShared(f *os.File) error { return try(f, syscall.LOCK_SH) }

func try(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		case err != nil:
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		default:
			return nil
		}
	}
}

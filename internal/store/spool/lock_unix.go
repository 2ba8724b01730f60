//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package spool

import (
	"errors"
	"os"
	"syscall"
)

// openNow keeps the opening of a pipe from waiting for its other end.
const openNow = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// lock locks f for as long as it is open, and errLive is its error when another has locked
// it. The kernel gives the lock back however the process ends, and no child inherits it.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLive
		case err != nil:
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		default:
			return nil
		}
	}
}

//go:build unix

package shell

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file until it is closed, or the process ends. It reports whether another
// process has locked the file.
func lockFile(f *os.File) (taken bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package outfile

import (
	"errors"
	"os"
)

// TryLock is not available on this system.
func TryLock(*os.File) error { return errors.ErrUnsupported }

// TryLockShared is not available on this system.
func TryLockShared(*os.File) error { return errors.ErrUnsupported }

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package filelock

import (
	"errors"
	"os"
)

// TryExclusive is not available on this system.
func TryExclusive(*os.File) error { return errors.ErrUnsupported }

// TryShared is not available on this system.
func TryShared(*os.File) error { return errors.ErrUnsupported }

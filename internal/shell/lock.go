package shell

import (
	"errors"
	"os"

	"github.com/taktload/takt/internal/filelock"
)

// lockFile locks a file until it is closed, or the process ends, where the system can. It reports
// whether another process has locked the file.
func lockFile(f *os.File) (taken bool, err error) {
	switch err := filelock.TryExclusive(f); {
	case errors.Is(err, filelock.ErrHeld):
		return true, nil
	case errors.Is(err, errors.ErrUnsupported):
		return false, nil
	default:
		return false, err
	}
}

package shell

import (
	"errors"
	"os"

	"github.com/taktload/takt/internal/outfile"
)

// lockFile locks a file until it is closed, or the process ends, where the system can. It reports
// whether another process has locked the file.
func lockFile(f *os.File) (taken bool, err error) {
	switch err := outfile.TryLock(f); {
	case errors.Is(err, outfile.ErrLocked):
		return true, nil
	case errors.Is(err, errors.ErrUnsupported):
		return false, nil
	default:
		return false, err
	}
}

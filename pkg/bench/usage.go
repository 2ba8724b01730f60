package bench

import "github.com/taktload/takt/internal/program"

// Usage returns err, and says that the arguments or flags of the program are its cause. If the function
// that Main got returns such an error, the exit code is 2, and the message points to --help; after any
// other error the exit code is 1. takt ./mybench has the same exit codes. Usage returns nil if err is nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &program.Misuse{Err: err}
}

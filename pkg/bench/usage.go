package bench

import "errors"

// Usage returns err, and says that the arguments or flags of the program are its cause. If the function
// that Main got returns such an error, the exit code is 2, and the message points to --help; after any
// other error the exit code is 1. Usage returns nil if err is nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &usage{err}
}

type usage struct{ err error }

func (u *usage) Error() string { return u.err.Error() }
func (u *usage) Unwrap() error { return u.err }

// refused reports whether err is a fault of usage.
func refused(err error) bool {
	var u *usage
	return errors.As(err, &u)
}

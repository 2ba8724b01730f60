// Package fault has the errors of stores: the cause for programs, the remedy for
// people.
package fault

import (
	"errors"
	"fmt"
)

// What can be wrong with a store, for errors.Is.
var (
	ErrNotFound     = errors.New("there is no such run")
	ErrAbsent       = errors.New("there is no store")
	ErrUnreachable  = errors.New("the store cannot be reached")
	ErrReadOnly     = errors.New("the store cannot be written to")
	ErrLocked       = errors.New("the store is locked by another process")
	ErrFull         = errors.New("the store is full")
	ErrCorrupt      = errors.New("the store is damaged")
	ErrOtherProgram = errors.New("the file is the database of another program")
	ErrTooNew       = errors.New("the store was written by a newer takt")
)

// Error says what went wrong where.
type Error struct {
	Kind  error  // one of the above
	Store string // its path or URL, without credentials; or the run's id
	Cause error  // may be nil
	Hint  string // what to do, without a full stop
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%v: %s", e.Kind, e.Store)
	if e.Cause != nil {
		s += fmt.Sprintf(" (%v)", e.Cause)
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap makes errors.Is find both.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Cause} }

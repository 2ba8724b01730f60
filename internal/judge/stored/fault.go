package stored

import (
	"encoding/json"
	"fmt"
)

// UsageError is a fault in the options or operands that only the runs reveal: exit code 2.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *UsageError) Unwrap() error { return e.Err }

// AsUsage wraps a fault in a UsageError, unless it is nil.
func AsUsage(fault error) error {
	if fault == nil {
		return nil
	}
	return &UsageError{fault}
}

// Usagef formats a fault as a UsageError.
func Usagef(format string, args ...any) error { return AsUsage(fmt.Errorf(format, args...)) }

// JSON is v as a report would contain it.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // cannot happen: reports are plain values
	}
	return string(b)
}

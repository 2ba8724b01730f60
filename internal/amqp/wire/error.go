package wire

import (
	"errors"
	"fmt"
)

// Error is the broker's reason for refusing a message, or ending a link, a session or the
// connection.
type Error struct {
	Condition   string // such as amqp:not-found
	Description string // text from the broker; may be empty
}

func (e *Error) Error() string {
	if e.Description == "" {
		return e.Condition
	}
	return e.Condition + ": " + e.Description
}

// Field appends the error as the next field; nil is null.
func (e *Error) Field(l *Compound) {
	if e == nil {
		l.Skip(1)
		return
	}
	inner := OpenList(l.Next(), isError)
	inner.Symbol(e.Condition)
	inner.StringSet(e.Description)
	l.B = inner.Close()
}

// ReadError returns the error in v, or nil.
func ReadError(v Value) *Error {
	is, l := v.Composite()
	if is != isError {
		return nil
	}
	e := &Error{Condition: l.Text(), Description: l.Text()}
	if e.Condition == "" {
		e.Condition = "amqp:undefined"
	}
	return e
}

// ErrMalformed says that the broker violated AMQP 1.0.
var ErrMalformed = errors.New("the broker does not keep to AMQP 1.0")

// Malformed returns an ErrMalformed that says what is wrong.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s; is it an AMQP 1.0 port?", ErrMalformed, fmt.Sprintf(format, args...))
}

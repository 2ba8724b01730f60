package amqp

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

// Errors of Send and of Coordinator's calls if nothing was sent and the same call may succeed
// later.
var (
	// ErrNoCredit: the broker accepts no message now; SenderOptions.OnCredit says when it
	// does.
	ErrNoCredit = errors.New("the broker gives no credit")
	// ErrBusy: too many bytes wait to be written (Options.Buffer), too many messages wait for
	// an outcome (a million per session), or the session's window is full. A later outcome or
	// flow makes room.
	ErrBusy = errors.New("the connection's buffer or the session's window is full")
)

// ErrTooLarge: a message of this size can never be sent here.
var ErrTooLarge = errors.New("the message is too large; send smaller ones")

// ErrClosed is the error after this side closed.
var ErrClosed = errors.New("closed")

// errMalformed says that the broker violated AMQP 1.0.
var errMalformed = errors.New("the broker does not keep to AMQP 1.0")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s; is it an AMQP 1.0 port?", errMalformed, fmt.Sprintf(format, args...))
}

func (e *Error) field(l *compound) {
	if e == nil {
		l.skip(1)
		return
	}
	inner := openList(l.next(), isError)
	inner.symbol(e.Condition)
	inner.stringSet(e.Description)
	l.b = inner.close()
}

// readError returns the error in v, or nil.
func readError(v Value) *Error {
	is, l := v.composite()
	if is != isError {
		return nil
	}
	e := &Error{Condition: l.text(), Description: l.text()}
	if e.Condition == "" {
		e.Condition = "amqp:undefined"
	}
	return e
}

// ended is an error with what ended, and the broker's reason if there is one.
func ended(what string, e *Error) error {
	if e == nil {
		return fmt.Errorf("the broker ended %s", what)
	}
	return fmt.Errorf("the broker ended %s: %w", what, e)
}

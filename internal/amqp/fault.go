package amqp

import (
	"errors"
	"fmt"
)

// Error is a condition that the broker gave: why it refused a message, or ended
// a link, a session or the connection.
type Error struct {
	Condition   string // such as amqp:not-found
	Description string // in the broker's words; may be empty
}

func (e *Error) Error() string {
	if e.Description == "" {
		return e.Condition
	}
	return e.Condition + ": " + e.Description
}

// What Send and the calls of Coordinator return when nothing was sent and the
// same call may succeed later.
var (
	// ErrNoCredit: the broker takes no message now; SenderOptions.OnCredit tells when.
	ErrNoCredit = errors.New("the broker gives no credit")
	// ErrBusy: too much waits to be written (Options.Buffer) or for its outcome (a
	// million messages of a session), or the session's window is full. A later
	// outcome or flow makes room.
	ErrBusy = errors.New("the connection's buffer or the session's window is full")
)

// ErrTooLarge: no message of this size can be sent here.
var ErrTooLarge = errors.New("the message is too large; send smaller ones")

// ErrClosed is the error of what this side closed.
var ErrClosed = errors.New("closed")

// errMalformed is what a peer sent that is not AMQP 1.0.
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

// readError gives the error in v, nil if there is none.
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

// ended tells what ended, and why if the broker said so.
func ended(what string, e *Error) error {
	if e == nil {
		return fmt.Errorf("the broker ended %s", what)
	}
	return fmt.Errorf("the broker ended %s: %w", what, e)
}

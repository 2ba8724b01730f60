package amqp

import (
	"errors"
	"fmt"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Error is the broker's reason for refusing a message, or ending a link, a session or the
// connection.
type Error = wire.Error

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

// ended is an error with what ended, and the broker's reason if there is one.
func ended(what string, e *Error) error {
	if e == nil {
		return fmt.Errorf("the broker ended %s", what)
	}
	return fmt.Errorf("the broker ended %s: %w", what, e)
}

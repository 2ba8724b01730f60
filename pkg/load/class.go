package load

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"unicode"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/foreign"
)

// Classes of failures that takt finds by itself in the errors of Go's network packages. A program
// may have more; the report counts up to 64 of them, and the rest as "other".
const (
	Timeout        = engine.ClassTimeout        // no answer in time
	ConnectTimeout = engine.ClassConnectTimeout // a worker did not open in time
	Refused        = engine.ClassRefused        // no process listens on the port
	Reset          = engine.ClassReset          // the other side reset the connection
	Ended          = engine.ClassClosed         // the other side closed the connection
	Network        = engine.ClassNetwork        // another error of the network
	Unopened       = engine.ClassWorker         // a worker did not open, for a reason that is not of the network
	Other          = "error"                    // an error that is not of the network and has no class
)

// Failed returns err with the class of its failure: a short word, the same for all errors with one
// cause, such as "timeout" or "5xx". The report counts failures by their classes, and has the text
// of the first error of each class. Failed returns nil if err is nil.
func Failed(class string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{name(class), err}
}

type failure struct {
	class string
	err   error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Class is how the engine finds the class.
func (f *failure) Class() string { return f.class }

// ClassOf returns the class of an error: of Failed, or of another error in its chain with a method
// Class() string; otherwise takt's own for errors of the network, or Other. The class of nil is "",
// which means success.
func ClassOf(err error) string {
	if err == nil {
		return ""
	}
	var own interface{ Class() string }
	if errors.As(err, &own) {
		return name(own.Class())
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Ended
	case ofNetwork(err):
		return engine.Classify(err)
	}
	return Other
}

// ofNetwork reports whether an error comes from the network, or from a context that ended.
func ofNetwork(err error) bool {
	var network net.Error
	if !errors.As(err, &network) {
		var record tls.RecordHeaderError
		return errors.As(err, &record) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled)
	}
	number, bare := network.(syscall.Errno) // a net.Error, too, when a file does not exist
	return !bare || engine.Classify(number) != Network
}

// Lost returns err, and says that the worker cannot perform another operation. takt closes the worker,
// and opens it again for its next operation, as [Workers] says. takt does the same without Lost after
// errors of the network. Lost is for clients that hide the cause of their errors, and for protocols in
// which an answer may be read halfway. Lost returns nil if err is nil.
func Lost(err error) error {
	if err == nil {
		return nil
	}
	return &lost{err}
}

type lost struct{ err error }

func (l *lost) Error() string { return l.err.Error() }
func (l *lost) Unwrap() error { return l.err }

// breaks reports whether a worker needs to be opened again after an operation with this error.
func breaks(err error) bool {
	var l *lost
	return errors.As(err, &l) || ofNetwork(err)
}

// unopened returns the error of a worker that did not open, with its class.
func unopened(err error) error {
	var own interface{ Class() string }
	class := ClassOf(err)
	switch {
	case class == Other:
		class = Unopened
	case class == Timeout && !errors.As(err, &own):
		class = ConnectTimeout
	}
	return &failure{class, err}
}

// longestClass is the largest length of a class in bytes.
const longestClass = 60

// name makes a class of a text: one word of limited length, and never empty, because an empty class
// means success.
func name(text string) string {
	if len(text) > longestClass {
		text = text[:longestClass]
	}
	text = strings.Map(func(r rune) rune {
		if !foreign.Shows(r) || unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, strings.TrimSpace(strings.ToValidUTF8(text, "")))
	if text == "" {
		return Other
	}
	return text
}

// Package parse reads a line of a log into a record. A [Setter] stores one value. A line is
// literals and variables, such as nginx's log_format ([Pattern]), an object of JSON or pairs of
// names and values ([FieldMap]), or a row of the predecessor's load format ([LoadFile]). Package
// formats says for each kind of log how its lines are read.
package parse

import (
	"bytes"
	"errors"
	"time"

	"github.com/taktload/takt/internal/trace"
)

// Faults of a line.
var (
	ErrStatus  = errors.New("the status is not a number of three digits")
	ErrTaken   = errors.New("the time taken is not a number")
	ErrComment = errors.New("comment") // does not even count as a line

	errSize   = errors.New("the size is not a number")
	errNoTime = errors.New("no time; a replay at a rate, as with --rate or --tps, does not need it")
)

// NoRequest is why a line without a record is not bad.
type NoRequest string

// Error is the reason.
func (n NoRequest) Error() string { return string(n) }

// The reasons.
const (
	Blank    NoRequest = "the request is empty or -"
	Tunnel   NoRequest = "CONNECT opens a tunnel"
	Garbage  NoRequest = "no METHOD and PATH, such as bytes of a TLS handshake"
	OtherURL NoRequest = "the URL is not http or https"
	NoURI    NoRequest = "the line has no URI"
	Event    NoRequest = "another message: it has neither a method nor a status"
)

// Reasons for which a request lacks something that the log has.
const (
	Untimed = "the time, which is not understood; a replay at a rate does not need it"
	NoUnit  = "the whole number at the end, whose unit is not known"
)

// IsNoRequest reports whether err says that a line has no request.
func IsNoRequest(err error) bool {
	_, is := err.(NoRequest) // never wrapped; asked for each value of each line
	return is
}

// Line fills a record from the values of one line.
type Line struct {
	Rec     *trace.Record
	clock   Clock
	query   []byte      // query that is logged apart from the path
	NoTimes bool        // accept bad times
	Left    *trace.Left // counts what a record lacks although the log has it
}

// NewLine returns a Line without a record. Stamps without a zone are in zone; noTimes accepts bad
// times; left counts what a record lacks although the log has it.
func NewLine(zone *time.Location, noTimes bool, left *trace.Left) Line {
	return Line{clock: Clock{Zone: zone}, NoTimes: noTimes, Left: left}
}

// Setter stores a value in the record. If it fails, the line is bad.
type Setter func(f *Line, v []byte) error

// Begin prepares f for another line, whose values go into rec.
func (f *Line) Begin(rec *trace.Record) {
	f.Rec, f.query = rec, nil
}

// Finish completes the record after all values are set. timed: the format has a time.
func (f *Line) Finish(timed bool) error {
	r := f.Rec
	if len(r.URI) == 0 {
		return NoURI
	}
	if timed && r.At.IsZero() {
		if !f.NoTimes {
			return errNoTime
		}
		f.Left.Note(Untimed)
	}
	if len(f.query) > 0 && bytes.IndexByte(r.URI, '?') < 0 {
		r.URI = f.sendable(r.Join(r.URI, "?", bytes.TrimPrefix(f.query, []byte("?"))))
	}
	if len(r.Method) == 0 {
		r.Method = r.Join(nil, "GET", nil)
	}
	if r.Expected == 0 && r.Status > 0 {
		r.Expected = r.Status
	}
	return nil
}

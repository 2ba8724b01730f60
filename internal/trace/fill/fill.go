// Package fill puts the values of one line of a log into a record. A Setter stores one value;
// each kind of log says which setters its values need.
package fill

import (
	"bytes"
	"errors"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/stamp"
)

// Faults of a line, and the two reasons for which a line without a record is not bad.
var (
	ErrStatus    = errors.New("the status is not a number of three digits")
	ErrTaken     = errors.New("the time taken is not a number")
	ErrNoRequest = errors.New("no HTTP request") // such as "-" or bytes of a TLS handshake
	ErrComment   = errors.New("comment")         // does not even count as a line

	errSize   = errors.New("the size is not a number")
	errNoTime = errors.New("no time")
)

// Line fills a record from the values of one line.
type Line struct {
	Rec     *trace.Record
	clock   stamp.Clock
	query   []byte // query that is logged apart from the path
	NoTimes bool   // accept bad times
	Left    *Left  // counts what a record lacks although the log has it
}

// New returns a Line without a record. Stamps without a zone are in zone; noTimes accepts bad
// times; left counts what a record lacks although the log has it.
func New(zone *time.Location, noTimes bool, left *Left) Line {
	return Line{clock: stamp.Clock{Zone: zone}, NoTimes: noTimes, Left: left}
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
		return ErrNoRequest
	}
	if timed && r.At.IsZero() {
		return errNoTime
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

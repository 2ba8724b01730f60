package trace

import (
	"bytes"
	"errors"
	"time"
)

var (
	errStatus = errors.New("the status is not a number of three digits")
	errSize   = errors.New("the size is not a number")
	errTaken  = errors.New("the time taken is not a number")
	errNoTime = errors.New("no time")

	errNoRequest = errors.New("no HTTP request")
	errComment   = errors.New("comment") // the line is a comment, which does not count
)

// filler fills a record from the values of one line.
type filler struct {
	rec     *Record
	clock   clock
	query   []byte // query that is logged apart from the path
	noTimes bool   // accept bad times
	left    *Left  // counts what a record lacks although the log has it
}

// newFiller returns a filler. Stamps without a zone are in zone; noTimes accepts bad times;
// left counts what a record lacks although the log has it.
func newFiller(zone *time.Location, noTimes bool, left *Left) filler {
	return filler{clock: clock{zone: zone}, noTimes: noTimes, left: left}
}

// setter stores a value in the record. If it fails, the line is bad.
type setter func(f *filler, v []byte) error

func (f *filler) begin(rec *Record) {
	f.rec, f.query = rec, nil
}

// finish completes the record after all values are set. timed: the format has a time.
func (f *filler) finish(timed bool) error {
	r := f.rec
	if len(r.URI) == 0 {
		return errNoRequest
	}
	if timed && r.At.IsZero() {
		return errNoTime
	}
	if len(f.query) > 0 && bytes.IndexByte(r.URI, '?') < 0 {
		r.URI = f.sendable(r.Join(r.URI, []byte("?"), bytes.TrimPrefix(f.query, []byte("?"))))
	}
	if len(r.Method) == 0 {
		r.Method = r.Join([]byte("GET"))
	}
	if r.Expected == 0 && r.Status > 0 {
		r.Expected = r.Status
	}
	return nil
}

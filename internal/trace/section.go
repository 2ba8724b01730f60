package trace

import (
	"io"
)

// Sectioned is a part of a stream.
type Sectioned struct {
	src        Stream
	skip, rest uint64
	bounded    bool
	left       Left
}

// Section skips the first from records and returns the next n; an n of 0 is all the others.
func Section(src Stream, from, n uint64) *Sectioned {
	return &Sectioned{src: src, skip: from, rest: n, bounded: n > 0}
}

// Left is what was left out so far. Requests after the section are not read.
func (s *Sectioned) Left() *Left { return &s.left }

// leftByFrom is why the first requests are left out.
const leftByFrom = "before --from"

// Next implements Stream.
func (s *Sectioned) Next(rec *Record) error {
	for ; s.skip > 0; s.skip-- {
		if err := s.src.Next(rec); err != nil {
			return err
		}
		s.left.Add(NotChosen, leftByFrom, rec.File, rec.Line)
	}
	if s.bounded && s.rest == 0 {
		return io.EOF
	}
	err := s.src.Next(rec)
	if err == nil {
		s.rest--
	}
	return err
}

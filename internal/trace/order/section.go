package order

import (
	"io"

	"github.com/taktload/takt/internal/trace"
)

// section is a part of a stream.
type section struct {
	src        trace.Stream
	skip, left uint64
	bounded    bool
}

// Section skips the first from records and returns the next n; an n of 0 is all the others.
func Section(src trace.Stream, from, n uint64) trace.Stream {
	return &section{src: src, skip: from, left: n, bounded: n > 0}
}

// Next implements Stream.
func (s *section) Next(rec *trace.Record) error {
	for ; s.skip > 0; s.skip-- {
		if err := s.src.Next(rec); err != nil {
			return err
		}
	}
	if s.bounded && s.left == 0 {
		return io.EOF
	}
	err := s.src.Next(rec)
	if err == nil {
		s.left--
	}
	return err
}

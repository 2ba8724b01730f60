package trace

import "io"

// part is a section of a stream.
type part struct {
	src        Stream
	skip, left uint64
	bounded    bool
}

// Part skips the first from records and returns the next n; an n of 0 is all the others.
func Part(src Stream, from, n uint64) Stream {
	return &part{src: src, skip: from, left: n, bounded: n > 0}
}

// Next implements Stream.
func (p *part) Next(rec *Record) error {
	for ; p.skip > 0; p.skip-- {
		if err := p.src.Next(rec); err != nil {
			return err
		}
	}
	if p.bounded && p.left == 0 {
		return io.EOF
	}
	err := p.src.Next(rec)
	if err == nil {
		p.left--
	}
	return err
}

// again is a log that restarts at its end.
type again struct {
	open func() (Stream, error)
	src  Stream
	some bool // the present pass has had records
}

// Again reads a log again and again, for Paced. It does not suit Timed, to which the second
// pass would be far too late. open begins a pass; a pass without records ends the stream.
func Again(open func() (Stream, error)) Stream { return &again{open: open, some: true} }

// Next implements Stream.
func (a *again) Next(rec *Record) error {
	for {
		if a.src == nil {
			if !a.some {
				return io.EOF
			}
			src, err := a.open()
			if err != nil {
				return err
			}
			a.src, a.some = src, false
		}
		err := a.src.Next(rec)
		if err != io.EOF {
			a.some = a.some || err == nil
			return err
		}
		a.src = nil
	}
}

package trace

import "io"

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

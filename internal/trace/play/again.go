package play

import (
	"io"

	"github.com/taktload/takt/internal/trace"
)

// again is a log that restarts at its end.
type again struct {
	open func() (trace.Stream, error)
	src  trace.Stream
	some bool // the present pass has had records
}

// Again reads a log again and again, for Paced. It does not suit order.Timed, to which the second
// pass would be far too late. open begins a pass; a pass without records ends the stream.
func Again(open func() (trace.Stream, error)) trace.Stream { return &again{open: open, some: true} }

// Next implements Stream.
func (a *again) Next(rec *trace.Record) error {
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

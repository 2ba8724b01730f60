package correlate

import (
	"io"

	"github.com/taktload/takt/internal/trace"
)

// Load are requests with their times, for a load file.
func Load(list []*Exchange) trace.Stream { return &load{list: list} }

type load struct {
	list []*Exchange
	n    int
}

// Next implements trace.Stream.
func (l *load) Next(r *trace.Record) error {
	if l.n == len(l.list) {
		return io.EOF
	}
	e := l.list[l.n]
	l.n++
	r.Reset()
	r.At, r.Latency, r.Transfer = e.Began, e.Ended.Sub(e.Began), e.Ended.Sub(e.answered())
	r.Method, r.Scheme, r.Host, r.URI = []byte(e.Method), []byte(e.URL.Scheme), []byte(e.URL.Host), []byte(e.URL.RequestURI())
	r.Status, r.Bytes, r.Body, r.RequestBytes = e.Status, e.Size, e.Body, int64(len(e.Body))
	r.File, r.Line = "request", l.n
	return nil
}

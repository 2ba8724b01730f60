package correlate

import (
	"bytes"
	"encoding/json"
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
	body := e.Body
	if bytes.ContainsAny(body, "\r\n") { // a row has no line ends
		var line bytes.Buffer
		if json.Compact(&line, body) == nil {
			body = line.Bytes()
		}
	}
	r.Status, r.Bytes, r.Body, r.RequestBytes = e.Status, e.Size, body, int64(len(body))
	r.File, r.Line = "request", l.n
	return nil
}

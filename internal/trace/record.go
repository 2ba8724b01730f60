// Package trace reads captured traffic: access logs, the load files of the
// predecessor, HAR and JMeter's results. It is a line of stages, each a [Stream]
// over the one before it, in constant memory however long the log is:
//
//	Reading            the flags that choose, and the first two stages at once
//	NewReader, Merge   files to records, in the order of the files' stamps
//	Select, Rewrite    what is kept, and how it is sent
//	Timed              the instant at which each request started, in order
//	Ahead              reading in a goroutine of its own
//	NewSource, Paced   operations: at the recorded instants, or at a schedule's
//
// It sends nothing.
package trace

import "time"

// Unknown stands for a size or a time that the log does not have.
const Unknown = -1

// Record is one request as a log tells of it. Its texts are valid until the next
// call of the Stream that gave it; CopyTo keeps them.
type Record struct {
	At           time.Time     // as logged; zero: the log has no times
	Second       bool          // At is known to the second only
	Ended        bool          // At is the end of the request, else its start
	Latency      time.Duration // of the whole request, or Unknown
	Transfer     time.Duration // the part of Latency after the answer's head, or Unknown
	Status       int           // of the answer; 0: not logged
	Expected     int           // the status that a replay should get; 0: any
	Bytes        int64         // of the answer, without its head where the log says so; or Unknown
	RequestBytes int64         // of the request, or Unknown
	Offered      float64       // requests per second asked of the generator that wrote the log; 0: not known

	Method  []byte // in capitals
	Scheme  []byte // http or https; empty: not logged
	Host    []byte // with the port where the log has it
	URI     []byte // path and query, begins with / (or is *), fit for a request line
	Client  []byte // address
	Referer []byte
	Agent   []byte
	Header  []byte // further lines of the request's header, fit to be sent, each with its CR LF
	Body    []byte
	Typed   bool // Header has a Content-Type

	File string // as named to NewReader
	Line int    // from 1; of HAR the number of the entry

	buf []byte // what had to be decoded
}

// Start is the instant at which the request started, as far as the log tells: a
// stamp of the end goes back by the latency.
func (r *Record) Start() time.Time {
	if r.Ended && r.Latency > 0 {
		return r.At.Add(-r.Latency)
	}
	return r.At
}

// reset makes r ready to be filled and keeps its buffer.
func (r *Record) reset() {
	*r = Record{Latency: Unknown, Transfer: Unknown, Bytes: Unknown, RequestBytes: Unknown, buf: r.buf[:0]}
}

// texts lists the fields that point into memory of somebody else.
func (r *Record) texts() [9]*[]byte {
	return [9]*[]byte{&r.Method, &r.Scheme, &r.Host, &r.URI, &r.Client, &r.Referer, &r.Agent, &r.Body, &r.Header}
}

// CopyTo makes dst, another Record, equal to r and independent of it. It allocates
// only when dst has held nothing as long before.
func (r *Record) CopyTo(dst *Record) {
	buf := dst.buf[:0]
	*dst = *r
	size := 0
	for _, t := range dst.texts() {
		size += len(*t)
	}
	if cap(buf) < size {
		buf = make([]byte, 0, size+size/4)
	}
	for _, t := range dst.texts() {
		at := len(buf)
		buf = append(buf, *t...)
		*t = buf[at:len(buf):len(buf)]
	}
	dst.buf = buf
}

// lend makes dst show r, without copying the texts.
func (r *Record) lend(dst *Record) {
	buf := dst.buf
	*dst = *r
	dst.buf = buf
}

// Stream gives records one after the other. Next fills rec, which may be a new one
// or one that was filled before; after the last it returns io.EOF, always.
type Stream interface{ Next(rec *Record) error }

// Package trace is captured traffic: access logs, the load files of the predecessor, HAR and
// JMeter's results. A log is read by a pipeline, whose stages are each a [Stream] over the
// stage before. Its memory does not grow with the length of the log:
//
//	reader.Settings              the flags, and the stages up to Rewrite together
//	reader.New, Merge            files to records, in the order of the files' stamps
//	Within, Section              a part of the log
//	Select, Rewrite              which records to send, and how
//	Timed                        the instant at which each request started, in order
//	play.Ahead                   reading in a separate goroutine
//	play.Source, play.Paced      operations: at the recorded instants, or at a schedule's
//
// The stages of this package read and write nothing, and nothing below it sends anything.
package trace

import (
	"io"
	"time"
)

// Unknown is a size or a time that the log does not have.
const Unknown = -1

// MaxLine limits a line of a log, in bytes; a longer line is bad. It is also the size of a
// file's buffer; a compressed file has two.
const MaxLine = 256 << 10

// Record is one request of a log. Its texts are valid until the next call of the Stream that
// returned it; CopyTo makes them last.
type Record struct {
	At           time.Time     // as logged; zero: the log has no times
	Second       bool          // At is known to the second only
	Zoned        bool          // the stamp had a zone, at Offset
	Offset       int32         // seconds east of Greenwich
	Ended        bool          // At is the end of the request; false: its start
	Latency      time.Duration // of the whole request, or Unknown
	Transfer     time.Duration // the part of Latency after the answer's head, or Unknown
	Status       int           // status of the answer; 0: not logged
	Expected     int           // status that a replay should get; 0: any
	Bytes        int64         // size of the answer, without its head if the log has that size; or Unknown
	RequestBytes int64         // size of the request, or Unknown
	Offered      float64       // offered rate per second of the generator that wrote the log; 0: unknown

	Method  []byte // in capitals
	Scheme  []byte // http or https; empty: not logged
	Host    []byte // with the port if the log has it
	URI     []byte // path and query, begins with / (or is *), valid in a request line
	Client  []byte // address
	Referer []byte
	Agent   []byte
	Header  []byte // other lines of the request's header, valid in a request, each with its CR LF
	Body    []byte
	Cookie  []byte // the Cookie header, which is not in Header
	Typed   bool   // Header has a Content-Type

	File string // the name that reader.New got
	Line int    // from 1; for HAR the number of the entry

	Memory []byte // of texts that had to be decoded
}

// Start is the instant at which the request started: At, or At − Latency if At is the end and
// the log has the latency.
func (r *Record) Start() time.Time {
	if r.Ended && r.Latency > 0 {
		return r.At.Add(-r.Latency)
	}
	return r.At
}

// Reset clears r for reuse and keeps its buffer.
func (r *Record) Reset() {
	*r = Record{Latency: Unknown, Transfer: Unknown, Bytes: Unknown, RequestBytes: Unknown, Memory: r.Memory[:0]}
}

// texts lists the fields that may point into memory of the Stream.
func (r *Record) texts() [10]*[]byte {
	return [10]*[]byte{&r.Method, &r.Scheme, &r.Host, &r.URI, &r.Client, &r.Referer, &r.Agent, &r.Body, &r.Header, &r.Cookie}
}

// CopyTo makes dst, another Record, an independent copy of r. It allocates only if the
// buffer of dst is too small.
func (r *Record) CopyTo(dst *Record) {
	buf := dst.Memory[:0]
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
	dst.Memory = buf
}

// Join puts three texts together in the memory of r, where they are valid as long as its texts.
func (r *Record) Join(a []byte, b string, c []byte) []byte {
	at := len(r.Memory)
	r.Memory = append(append(append(r.Memory, a...), b...), c...)
	return r.Memory[at:]
}

// Lend makes dst a copy of r that shares its texts.
func (r *Record) Lend(dst *Record) {
	buf := dst.Memory
	*dst = *r
	dst.Memory = buf
}

// Stream returns records one after the other. Next fills rec, which may be new or reused.
// After the last record it returns io.EOF at every call.
type Stream interface{ Next(rec *Record) error }

// Each calls do for every record.
func Each(src Stream, do func(r *Record) error) error {
	var rec Record
	for {
		err := src.Next(&rec)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = do(&rec)
		}
		if err != nil {
			return err
		}
	}
}

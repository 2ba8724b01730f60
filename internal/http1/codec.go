// Package http1 is the client side of HTTP/1.1 (RFC 9112) without allocations: requests are
// rendered once, answers are counted and not kept. It accepts what net/http accepts; the fuzz
// test lists where it is stricter and why.
package http1

import (
	"cmp"
	"math"
	"sync/atomic"

	"github.com/taktload/takt/pkg/takt"
)

// SampleBytes is how much of a failed answer's body is kept in Result.Body.
const SampleBytes = 256

// MaxHead is the default of Options.MaxHead.
const MaxHead = 64 << 10

// ClassBody is the failure class of an answer that Options.Check refused.
const ClassBody = "body"

// Requests makes the request of each operation. A *Rendered sends the same request every
// time.
type Requests interface {
	// Append appends op's request to dst. head: its answer has no body. last: its answer is
	// the last on the connection. Many connections call Append at once.
	Append(dst []byte, op *takt.Op) (out []byte, head, last bool)
}

// Whole is implemented by Requests whose requests exist before the run, so they need no copy.
type Whole interface {
	// Whole returns what Append would append; see takt.Rendered.
	Whole(op *takt.Op) (request []byte, head, last bool)
}

// Options are the settings of a Codec. The zero value is usable.
type Options struct {
	MaxHead   int                             // largest size in bytes of an answer's status lines, headers and trailers, interim answers included; 0: 64 KiB
	MaxFields int                             // largest number of header and trailer lines of an answer; 0: 256
	MaxBody   int64                           // largest size in bytes of a body without its chunk framing; 0: no limit
	Fail      func(status int) string         // failure class of a status, "" for success; called once an answer, when its head is complete; nil: no status fails
	Check     func(c Content) error           // checks the first CheckBytes of an answer that did not fail; c is valid during the call; nil: no check
	Reads     func() bool                     // reports whether Check is for the body of the present answer, too; nil: it is
	Room      *Room                           // of the bodies for Check; nil: no limit
	Stale     *atomic.Uint64                  // counts operations that met the end of a connection that the server had kept open after an answer; nil: nobody wants to know
	Field     func(name, value []byte)        // receives each header line of an answer, in order; nil: nobody wants them
	Body      func(b []byte, ends bool) error // receives the bytes of a body that did not fail, as they come; ends: a chunk ends with them. An error is the answer's failure, ClassTooLarge; nil: nobody wants them
	Sample    int                             // bytes of a failed answer's body that are kept in Result.Body; 0: SampleBytes
}

// WithDefaults is o with its defaults in place of zeros.
func (o Options) WithDefaults() Options {
	o.MaxHead = cmp.Or(o.MaxHead, MaxHead)
	o.MaxFields = cmp.Or(o.MaxFields, 256)
	o.MaxBody = cmp.Or(o.MaxBody, math.MaxInt64)
	o.Sample = cmp.Or(o.Sample, SampleBytes)
	return o
}

// Codec is a takt.Codec for one connection. It is not safe for concurrent use.
//
// Parse needs whole lines of a head, but any part of a body: the caller's buffer must have
// room for a line (at most MaxHead bytes), not an answer. All calls for one answer get the
// same Result; Parse adds to its Body.
//
// Parse never reads past the end of an answer. Bytes that it leaves after Done answer no
// request; the caller should close the connection. An answer that is complete when eof is set
// is the connection's Last.
type Codec struct {
	requests   Requests
	whole      Whole // requests as Whole; nil: call Append
	opt        Options
	head, last bool // results of Requests.Append for the current request
	answer
	kept  Kept  // body for Options.Check
	again bool  // the connection has had an answer
	known known // last head; kept across answers and connections
	body  int64 // size of the last answer's body
}

// BodyBytes is the length of the last answer's body, without its framing.
func (c *Codec) BodyBytes() int64 { return c.body }

// answer is the state of a partly read answer.
type answer struct {
	phase      phase
	said       head
	headLeft   int    // bytes until MaxHead
	fieldsLeft int    // lines until MaxFields
	bodyLeft   int64  // bytes until MaxBody
	got        int64  // bytes of the body
	left       int64  // bytes still missing of the body or chunk
	class      string // result of Options.Fail
}

type phase uint8

const (
	atStatus phase = iota
	atField
	atBody // after a final answer's head
	inBody // body with a Content-Length
	inRest // body that ends with the connection
	atChunk
	inChunk
	atChunkEnd
	atTrailer
	complete
)

// NewCodec returns a Codec that sends requests; nil for a Codec that never sends.
func NewCodec(requests Requests, opt Options) *Codec {
	c := &Codec{requests: requests, opt: opt.WithDefaults()}
	c.whole, _ = requests.(Whole)
	c.Reset()
	return c
}

// Append appends op's request to dst.
func (c *Codec) Append(dst []byte, op *takt.Op) []byte {
	dst, c.head, c.last = c.requests.Append(dst, op)
	return dst
}

// Request implements takt.Rendered.
func (c *Codec) Request(op *takt.Op) (request []byte) {
	if c.whole != nil {
		request, c.head, c.last = c.whole.Whole(op)
	}
	return request
}

// Reset discards a partly read answer. It keeps head and last of the request, so the
// connection may be made after Append.
func (c *Codec) Reset() {
	c.again = false
	c.restart()
}

// restart prepares c for the next answer of the connection.
func (c *Codec) restart() {
	c.answer = answer{headLeft: c.opt.MaxHead, fieldsLeft: c.opt.MaxFields, bodyLeft: c.opt.MaxBody}
	c.kept.Reset()
}

// Parse reads on in an answer. Its failures are the classes of this package,
// with Result.Err, and those of Options.Fail, without.
func (c *Codec) Parse(in []byte, eof bool, r *takt.Result) (n int, p takt.Progress) {
	var f *fault
	if c.phase < atBody {
		n, f = c.readHead(in)
		if f == nil {
			f = c.begin(r)
		}
	}
	for f == nil && c.phase != complete {
		var used int
		used, f = c.step(in[n:], r)
		n += used
	}
	if f == starved && eof {
		f = c.end(len(in))
		n = len(in)
	}
	if f == starved {
		return n, takt.More
	}
	return n, c.finish(f, eof, r)
}

// step reads one stretch of the body, or one line of its framing.
func (c *Codec) step(in []byte, r *takt.Result) (int, *fault) {
	switch c.phase {
	case inBody:
		return c.readBody(in, complete, r)
	case inRest:
		return c.readRest(in, r)
	case atChunk:
		return c.readChunkSize(in)
	case inChunk:
		return c.readBody(in, atChunkEnd, r)
	case atChunkEnd:
		return c.readChunkEnd(in)
	default:
		return c.readTrailer(in)
	}
}

// end handles the end of the connection before a complete answer.
func (c *Codec) end(unread int) *fault {
	switch {
	case c.phase == inRest:
		return nil
	case unread == 0 && c.headLeft == c.opt.MaxHead:
		if c.again && c.opt.Stale != nil {
			c.opt.Stale.Add(1)
		}
		return errClosed
	}
	return errTruncated
}

func (c *Codec) finish(f *fault, eof bool, r *takt.Result) takt.Progress {
	last := f != nil || eof || c.last || c.said.close
	c.body = c.got
	if f != nil {
		r.Class, r.Err = f.class, f
	} else {
		c.opt.Judge(c.class, r, &c.kept, c.said.coding)
	}
	c.restart()
	if c.again = !last; last {
		return takt.Last
	}
	return takt.Done
}

// Judge ends a complete answer: it failed with class, or its body k in the coding is checked. Of a body that
// failed the check it keeps SampleBytes, decoded.
func (o *Options) Judge(class string, r *takt.Result, k *Kept, coding string) {
	switch {
	case class != "":
		r.Class = class
	case o.Check != nil:
		c, release := ContentOf(k, coding)
		if err := o.Check(c); err != nil {
			r.Class, r.Err = ClassBody, err
			r.Body = append(r.Body, c.Bytes[:min(len(c.Bytes), SampleBytes)]...)
		}
		release()
	}
}

package http

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/pkg/takt"
)

// Exchange is an answer and how it came about. Its bytes belong to the connection.
type Exchange struct {
	Request, Answer []byte // as far as they were kept; empty unless Wants said so
	BodyBytes       int64  // of the answer, without its framing
	Result          *takt.Result
}

// exchangeBytes bounds what is kept of a request, and of an answer.
const exchangeBytes = 4 << 10

// class is the failure class of an answer.
func (o *Options) class(op *takt.Op, status int) string {
	if o.Recording != nil {
		return o.Recording.Class(op, status)
	}
	return o.FailOn.Class(status)
}

// judging is how the codecs of o judge answers, and where they count.
func (o *Options) judging() http1.Options {
	return http1.Options{Fail: o.FailOn.Class, Room: &o.room, Stale: &o.stale}
}

// codec is the codec of one connection.
func (o *Options) codec() takt.Codec { return o.codecOf(nil) }

// codecOf is codec for a connection with users; nil: it has none.
func (o *Options) codecOf(user func() *users.User) takt.Codec {
	opt := o.judging()
	opt.Check = o.ExpectBody.Check()
	s, ok := o.requests.(*recorded)
	if o.Stream {
		return o.streamed(o.throughProxy(o.requests), opt)
	}
	if !ok {
		return http1.NewCodec(o.throughProxy(o.requests), opt)
	}
	c := &recordedCodec{recorded: s}
	if user != nil && o.Sessions.On {
		c.user = user
		c.remember(&opt)
	}
	opt.Fail = func(status int) string { return o.Recording.Class(c.op, status) }
	c.Codec = http1.NewCodec(o.throughProxy((*askedRequests)(c)), opt)
	return c
}

// recordedCodec also keeps the beginning of what it sends and gets.
type recordedCodec struct {
	*http1.Codec
	recorded *recorded
	op       *takt.Op // under way; the engine keeps it until the answer came
	asked    Asked
	exchange Exchange
	keeps    bool
	user     func() *users.User // who uses the connection; nil: nobody remembers anything
}

// askedRequests are the requests of one connection.
type askedRequests recordedCodec

// Append implements http1.Requests.
func (c *askedRequests) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	if c.user == nil {
		return c.recorded.appendOp(dst, op, &c.asked)
	}
	q, s := &c.asked, c.recorded
	q.reset()
	s.o.Recording.Ask(op, q)
	s.o.Sessions.add(q, op.Seq, s.target(nil, q.URI), s.o.url.Scheme == "https", sessionOf(c.user))
	return s.append(dst, q), string(q.Method) == "HEAD", s.o.DisableKeepAlive
}

// Append implements takt.Codec.
func (c *recordedCodec) Append(dst []byte, op *takt.Op) []byte {
	from := len(dst)
	c.op, c.keeps = op, c.recorded.o.Recording.Wants()
	dst = c.Codec.Append(dst, op)
	e := &c.exchange
	e.Request, e.Answer = e.Request[:0], e.Answer[:0]
	if c.keeps {
		e.Request = append(e.Request, dst[from:min(len(dst), from+exchangeBytes)]...)
	}
	return dst
}

// Parse implements takt.Codec.
func (c *recordedCodec) Parse(in []byte, eof bool, r *takt.Result) (n int, p takt.Progress) {
	n, p = c.Codec.Parse(in, eof, r)
	e := &c.exchange
	if c.keeps {
		e.Answer = append(e.Answer, in[:min(n, exchangeBytes-len(e.Answer))]...)
	}
	if p != takt.More {
		e.BodyBytes, e.Result = c.BodyBytes(), r
		c.recorded.o.Recording.Answered(c.op, e)
	}
	return n, p
}

// wants reports whether the bytes of the next exchange are to be kept.
func (c *netClient) wants() bool { return c.o.Recording != nil && c.o.Recording.Wants() }

// answered tells the Recording of an answer that was read to its end.
func (w *netWorker) answered(resp *http.Response, op *takt.Op, r *takt.Result, size int64, wanted bool) {
	e := &Exchange{BodyBytes: size, Result: r}
	if wanted {
		if m, err := w.c.o.requests.Message(op); err == nil {
			e.Request, _ = m.AppendTo(nil) // it was sent
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s %s\r\n", resp.Proto, resp.Status)
		_ = resp.Header.Write(&b) // a Buffer takes everything
		b.WriteString("\r\n")
		b.Write(w.body)
		e.Answer = b.Bytes()
	}
	w.c.o.Recording.Answered(op, e)
}

package http2

import (
	"strconv"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/pkg/takt"
)

// Requests makes the request of each operation. Many connections call it at once, each with a
// Request of its own.
type Requests interface {
	// Request fills in q for op.
	Request(q *Request, op *takt.Op)
}

// Request is a request in the form of HTTP/2. It is valid until the next call of Requests.
type Request struct {
	Fields []Field // pseudo-headers first, names in lower case
	Body   []byte
	Lasts  bool // nobody changes Body during the run
	Head   bool // the method is HEAD: the answer has no body
	Last   bool // no other request follows on the connection

	// Same is not nil if all requests with this pointer have the same fields: their header block
	// is made once for each connection.
	Same *Rendered

	text []byte // of Fields
	made []byte // of MakeBody
}

// Field is one header of a request.
type Field struct {
	Name, Value []byte
	Keep        bool // many requests have it: worth a place in the table of the connection
}

// Start begins a request with the pseudo-headers. keep: other requests have the same target.
func (q *Request) Start(method, scheme, authority string) {
	*q = Request{Fields: q.Fields[:0], text: q.text[:0], made: q.made[:0], Head: method == "HEAD"}
	q.Add(":method", method, true)
	q.Add(":scheme", scheme, true)
	q.Add(":authority", authority, true)
}

// Add adds a header with its name in lower case. It leaves out what is about a connection of
// HTTP/1.1.
func (q *Request) Add(name, value string, keep bool) {
	q.AddMade(name, keep, func(dst []byte) []byte { return append(dst, value...) })
}

// AddMade is Add with the value that make appends to dst.
func (q *Request) AddMade(name string, keep bool, make func(dst []byte) []byte) {
	from := len(q.text)
	for i := range len(name) {
		b := name[i]
		if b-'A' < 26 {
			b |= 0x20
		}
		q.text = append(q.text, b)
	}
	at := len(q.text)
	q.text = make(q.text)
	end := len(q.text)
	f := Field{q.text[from:at:at], q.text[at:end:end], keep}
	if !wire.OfConnection(f.Name, f.Value) {
		q.Fields = append(q.Fields, f)
	}
}

// MakeBody makes the body what make appends to dst.
func (q *Request) MakeBody(make func(dst []byte) []byte) {
	q.made = make(q.made[:0])
	q.Body = q.made
}

// AddLength adds the length of the body, where servers expect one.
func (q *Request) AddLength(method string, keep bool) {
	if n := len(q.Body); n > 0 || http1.ExpectsBody(method) {
		q.AddMade("content-length", keep, func(dst []byte) []byte { return strconv.AppendInt(dst, int64(n), 10) })
	}
}

// Fill makes q the request from. keepTarget: many requests have the same target and length.
func (q *Request) Fill(from *http1.Request, scheme string, keepTarget bool) {
	q.Start(from.Method, scheme, from.Host)
	q.Add(":path", from.Target, keepTarget)
	for _, f := range from.Header {
		q.Add(f.Name, f.Value, true)
	}
	q.Body, q.Lasts, q.Last = from.Body, true, from.Close || from.SaysClose()
	q.AddLength(from.Method, keepTarget)
}

// Rendered is a request that every operation sends.
type Rendered struct{ request Request }

// Render makes q, by a scheme, a request of HTTP/2. q must be one that http1 renders.
func Render(q *http1.Request, scheme string) *Rendered {
	r := new(Rendered)
	r.request.Fill(q, scheme, true)
	r.request.Same = r
	return r
}

// RenderBy is the request that fill makes, without a body that changes: other requests may have its fields.
func RenderBy(fill func(q *Request)) *Rendered {
	r := new(Rendered)
	fill(&r.request)
	r.request.Lasts, r.request.Same = true, r
	return r
}

// Request implements Requests.
func (r *Rendered) Request(q *Request, _ *takt.Op) {
	*q = r.request
}

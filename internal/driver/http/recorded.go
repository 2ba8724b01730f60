package http

import (
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// Recording makes the requests of operations that bring them along, such as those of
// a log, and judges the answers. Its methods are called by many connections at once.
type Recording interface {
	// Ask fills q, which is empty, with what op asks for.
	Ask(op *takt.Op, q *Asked)
	// Class is the failure class of an answer with this status, "" if it is right.
	Class(op *takt.Op, status int) string
	// Wants reports whether Answered is to have the bytes of an exchange.
	Wants() bool
	// Answered is told of each answer, also of one that was cut short.
	Answered(op *takt.Op, e *Exchange)
	// Describe adds what is sent to Report.Variables.
	Describe(v map[string]any)
}

// Asked is what an operation asks for. Its texts have to last until the answer came.
type Asked struct {
	Method, URI []byte // the URI is fit for a request line
	Host        []byte // empty: that of the flags
	Header      []http1.Field
	Lines       []byte // more of the header, each line with its CR LF; of names that SendsHeader does not know
	Typed       bool   // Lines has a Content-Type
	Body        []byte // may be appended to, its memory is kept
}

func (q *Asked) reset() { *q = Asked{Header: q.Header[:0], Body: q.Body[:0]} }

// recorded are the requests of a Recording.
type recorded struct {
	o        *Options
	prefix   string // path of the URL, before each URI
	host     string
	bare     []byte          // header lines without Host and Content-Length
	withBody []byte          // the same for a request with a body
	names    map[string]bool // of the lines in bare, in small letters
	pool     sync.Pool
}

func (o *Options) buildRecorded() []error {
	if err := o.takeValued(); err != nil {
		return []error{err}
	}
	// any target: of this message only the header is used
	m := o.newMessage("GET", o.url, "/", nil, nil)
	full := o.newMessage("POST", o.url, "/", nil, []byte{0})
	if err := full.Check(); err != nil {
		return []error{err}
	}
	o.requests = &recorded{
		o: o, names: namesOf(m.Header), host: m.Host, prefix: strings.TrimRight(o.url.EscapedPath(), "/"), bare: m.Lines(), withBody: full.Lines(),
		pool: sync.Pool{New: func() any { return new(Asked) }},
	}
	return nil
}

func namesOf(header []http1.Field) map[string]bool {
	names := map[string]bool{}
	for _, f := range header {
		names[strings.ToLower(f.Name)] = true
	}
	return names
}

// SendsHeader reports whether the flags put a header of this name, in small letters, into
// each recorded request.
func (o *Options) SendsHeader(name string) bool { return o.requests.(*recorded).names[name] }

// target is what stands in the request line.
func (s *recorded) target(dst []byte, uri []byte) []byte {
	if string(uri) != "*" {
		dst = append(dst, s.prefix...)
	}
	return append(dst, uri...)
}

// append appends the request q. It does not allocate.
func (s *recorded) append(dst []byte, q *Asked) []byte {
	dst = append(append(dst, q.Method...), ' ')
	dst = append(s.target(dst, q.URI), " HTTP/1.1\r\nHost: "...)
	if len(q.Host) > 0 {
		dst = append(dst, q.Host...)
	} else {
		dst = append(dst, s.host...)
	}
	dst = append(dst, "\r\n"...)
	if len(q.Body) > 0 && !q.Typed {
		dst = append(dst, s.withBody...)
	} else {
		dst = append(dst, s.bare...)
	}
	dst = append(dst, q.Lines...)
	for _, f := range q.Header {
		dst = append(append(append(append(dst, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	if len(q.Body) > 0 || http1.ExpectsBody(string(q.Method)) {
		dst = append(strconv.AppendInt(append(dst, "Content-Length: "...), int64(len(q.Body)), 10), "\r\n"...)
	}
	return append(append(dst, "\r\n"...), q.Body...)
}

// Append implements http1.Requests for who has no Asked at hand.
func (s *recorded) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	q := s.pool.Get().(*Asked)
	defer s.pool.Put(q)
	return s.appendOp(dst, op, q)
}

func (s *recorded) appendOp(dst []byte, op *takt.Op, q *Asked) (out []byte, head, last bool) {
	q.reset()
	s.o.Recording.Ask(op, q)
	return s.append(dst, q), string(q.Method) == "HEAD", s.o.DisableKeepAlive
}

// Endpoint is the host that recorded requests name, and the path before theirs.
func (o *Options) Endpoint() (host, path string) {
	s := o.requests.(*recorded)
	return s.host, s.prefix
}

// Message implements requests for net/http.
func (s *recorded) Message(op *takt.Op) (*httpreq.Message, error) {
	q := s.pool.Get().(*Asked)
	defer s.pool.Put(q)
	q.reset()
	s.o.Recording.Ask(op, q)
	target := string(s.target(nil, q.URI))
	u, err := url.Parse(s.o.url.Scheme + "://" + s.o.url.Host + target)
	if err != nil {
		return nil, err
	}
	m := s.o.newMessage(string(q.Method), u, target, append(fieldsIn(q.Lines), q.Header...), append([]byte(nil), q.Body...))
	if len(q.Host) > 0 {
		m.Host = string(q.Host)
	}
	return m, nil
}

// fieldsIn takes header lines apart.
func fieldsIn(lines []byte) (fields []http1.Field) {
	for line := range strings.SplitSeq(string(lines), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			fields = append(fields, http1.Field{Name: name, Value: value})
		}
	}
	return fields
}

func (s *recorded) Describe(v map[string]any) {
	v["scheme"], v["host"], v["path"] = s.o.url.Scheme, s.o.url.Host, s.prefix
	s.o.Recording.Describe(v)
}

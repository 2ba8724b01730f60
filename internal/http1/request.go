package http1

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// Field is one header line of a request, in the spelling in which it is sent.
type Field struct{ Name, Value string }

// Request is rendered once and then sent as bytes any number of times. Only these fields are
// sent: no User-Agent, no Accept-Encoding.
type Request struct {
	Method string  // a token; not CONNECT, whose answer is a tunnel
	Target string  // "/path?query", "http://host/path" through a proxy, or "*"
	Host   string  // host or host:port
	Header []Field // in this order; not Host, Content-Length or Transfer-Encoding
	Body   []byte  // sent with Content-Length
	Close  bool    // one request a connection: adds Connection: close
}

// Rendered is the bytes of a request and what is needed to read its answer. Codecs only read
// it, so all connections can share one.
type Rendered struct {
	Bytes []byte
	Head  bool // the method is HEAD: the answer has no body
	Close bool // the request says Connection: close: the answer is the last
}

// Render checks q and renders its bytes.
func (q *Request) Render() (*Rendered, error) {
	b, err := q.AppendTo(nil)
	if err != nil {
		return nil, err
	}
	return &Rendered{Bytes: b, Head: q.Method == "HEAD", Close: q.Close || q.SaysClose()}, nil
}

// Append implements Requests: every operation sends the same request.
func (q *Rendered) Append(dst []byte, _ *takt.Op) (out []byte, head, last bool) {
	return append(dst, q.Bytes...), q.Head, q.Close
}

// Whole implements the interface Whole.
func (q *Rendered) Whole(*takt.Op) (request []byte, head, last bool) { return q.Bytes, q.Head, q.Close }

// AppendTo appends q's bytes to dst. It refuses a request that a server would read
// differently, and then returns dst unchanged.
func (q *Request) AppendTo(dst []byte) ([]byte, error) {
	if err := q.check(); err != nil {
		return dst, err
	}
	dst = append(dst, q.Method+" "+q.Target+" HTTP/1.1\r\n"...)
	dst = appendField(dst, "Host", q.Host)
	for _, f := range q.Header {
		dst = appendField(dst, f.Name, f.Value)
	}
	if q.Close && !q.SaysClose() {
		dst = appendField(dst, "Connection", "close")
	}
	if len(q.Body) > 0 || ExpectsBody(q.Method) {
		dst = appendField(dst, "Content-Length", strconv.Itoa(len(q.Body)))
	}
	return append(append(dst, "\r\n"...), q.Body...), nil
}

func appendField(dst []byte, name, value string) []byte {
	return append(dst, name+": "+value+"\r\n"...)
}

// ExpectsBody reports whether an empty body needs a Content-Length: without it servers answer
// a POST with 411.
func ExpectsBody(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

// SaysClose reports whether a header of q has the word close for the connection.
func (q *Request) SaysClose() bool {
	for _, f := range q.Header {
		if equalFold(f.Name, "connection") && hasWord([]byte(f.Value), "close") {
			return true
		}
	}
	return false
}

func (q *Request) check() error {
	if !isToken(q.Method) {
		return fmt.Errorf("method %q is not a token", q.Method)
	}
	if q.Method == "CONNECT" {
		return errors.New("method CONNECT opens a tunnel and is not supported")
	}
	if err := CheckTarget(q.Target); err != nil {
		return err
	}
	if q.Host == "" || !isVisible(q.Host) || strings.ContainsAny(q.Host, `/?#@\,"`) {
		return fmt.Errorf("host %q is not a host name with an optional port", q.Host)
	}
	for _, f := range q.Header {
		if err := CheckField(f); err != nil {
			return err
		}
	}
	return nil
}

// CheckTarget reports what is wrong with a request's target.
func CheckTarget(t string) error {
	if t != "*" && !strings.HasPrefix(t, "/") && !strings.Contains(t, "://") {
		return fmt.Errorf("target %q is neither a path nor a whole URL", t)
	}
	if !isVisible(t) || strings.Contains(t, "#") {
		return fmt.Errorf("target %q has a character that must be percent-encoded", t)
	}
	return nil
}

// PercentEncoded is s with what CheckTarget refuses, except #, and each byte of more percent-encoded (RFC 3986, 2.1).
func PercentEncoded(s, more string) string {
	if isVisible(s) && !strings.ContainsAny(s, more) {
		return s
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; !isVisible(s[i:i+1]) || strings.IndexByte(more, c) >= 0 {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// CheckField reports what is wrong with a header line.
func CheckField(f Field) error {
	if !isToken(f.Name) {
		return badName(f.Name)
	}
	for i := range len(f.Value) {
		if !isValue(f.Value[i : i+1]) { // the value is not shown: it may be a secret
			return fmt.Errorf("header %s: byte %d of the value is a control character", f.Name, i+1)
		}
	}
	for _, own := range [...]string{"host", "content-length", "transfer-encoding"} {
		if equalFold(f.Name, own) {
			return fmt.Errorf("header %s is made from the request and cannot be given", f.Name)
		}
	}
	return nil
}

// badName shows only the valid part of the name: a secret may follow.
func badName(name string) error {
	for i := range len(name) {
		if !isToken(name[i : i+1]) {
			return fmt.Errorf("header name %q is not a token: it has a space or another character that no name has", name[:i]+"…")
		}
	}
	return errors.New("a header name is not a token: it is empty")
}

// isVisible reports whether s is ASCII without spaces and control characters.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

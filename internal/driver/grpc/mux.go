package grpc

import (
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2"
	"github.com/taktload/takt/pkg/takt"
)

// Classes of failures beside those of codes and of takt http.
const (
	classNotGRPC  = "not_grpc"    // the answer's content type is another one
	classNoStatus = "no_status"   // the answer ended without grpc-status
	classAmount   = "cardinality" // the status is OK, and the number of messages does not fit the method
	classMessage  = "message"     // the placeholders gave a text that is no message of the method
)

var (
	errNoType   = &fault{classNotGRPC, "the answer has no content type, so it is no gRPC; is the address that of the gRPC server?"}
	errNoStatus = &fault{classNoStatus, "the answer ended without grpc-status in its trailers"}
	errMany     = &fault{classAmount, "the status is OK, and more than one message came; the method has one answer"}
	errNone     = &fault{classAmount, "the status is OK, and no message came; the method has one answer"}
	errProtocol = &fault{http2.ClassProtocol, "the server does not speak HTTP/2 here; for TLS begin the target with https://, without TLS leave that out"}
)

// call is the call under way of a tag.
type call struct {
	result *takt.Result
	frames frames
	status status
	fault  *fault // of the head
	messages,
	sent uint64
	counts bool  // it was not due in the warm-up
	broken error // why its messages could not be made
}

// begin prepares c for the answer to op.
func (c *call) begin(r *takt.Result, counts bool) {
	c.result, c.counts, c.fault, c.messages, c.broken = r, counts, nil, 0, nil
	c.frames.reset()
	c.status.reset()
}

// field takes a field of the head or of the trailers. A status counts only where the answer ends.
func (c *call) field(name, value []byte, last bool) {
	switch {
	case !last:
		if string(name) == "grpc-encoding" {
			c.frames.coding = codingOf(value)
		}
	case string(name) == "grpc-status":
		code, err := codeOf(value)
		if err == nil && c.status.code != noCode && c.status.code != code {
			err = &fault{http1.ClassMalformed, "the answer has two different values of grpc-status"}
		}
		if c.status.code = code; err != nil && c.fault == nil {
			c.fault = err.(*fault) // of this package
		}
	case string(name) == "grpc-message":
		c.status.message = append(c.status.message[:0], value[:min(len(value), mostText)]...)
	case string(name) == "grpc-status-details-bin":
		c.status.details = append(c.status.details[:0], value[:min(len(value), mostText)]...)
	}
}

// head checks the content type: application/grpc, also with a suffix or parameters.
func (c *call) head(contentType string) {
	if contentType == "" {
		c.fault = errNoType
		return
	}
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	if !ok || rest != "" && !strings.HasPrefix(rest, "+") && !strings.HasPrefix(rest, ";") {
		c.fault = &fault{classNotGRPC, "the content type of the answer is " + quoted(contentType) + ", which is no gRPC; is the address that of the gRPC server?"}
	}
}

// body reads the next bytes. Each end of a message is told to ends, with its bytes so far in b.
func (c *call) body(b []byte, piece func(b []byte, ends bool) error) error {
	if c.fault != nil {
		return c.fault
	}
	for len(b) > 0 {
		n, ended, err := c.frames.next(b)
		if err != nil {
			return err
		}
		if ended {
			c.messages++
		}
		if piece != nil {
			if err := piece(b[:n], ended); err != nil {
				return err
			}
		}
		b = b[n:]
	}
	return nil
}

// judge ends an answer whose end came in order. one: the method has one answer.
func (c *call) judge(one bool) {
	class, err := c.verdict(one)
	r := c.result
	if r.Class, r.Err = class, err; c.status.code != noCode {
		r.Status = c.status.code
	}
}

// verdict is the class of a complete answer, and the reason.
func (c *call) verdict(one bool) (string, error) {
	switch {
	case c.broken != nil:
		return classMessage, c.broken
	case c.fault != nil:
		return c.fault.class, c.fault
	case c.status.code > 0:
		return classOf(c.status.code), &c.status
	case c.frames.inside():
		return errUnfinished.class, errUnfinished
	case c.status.code == noCode:
		return classNoStatus, errNoStatus
	case one && c.messages == 0:
		return classAmount, errNone
	case one && c.messages > 1:
		return classAmount, errMany
	}
	return "", nil
}

// muxBase is what connections have in common, whether they measure parts or not.
type muxBase struct {
	run            *run
	calls          []*call // by tag
	maker          *maker
	sent, received uint64 // messages of good calls that were not due in the warm-up
}

// call is that of a tag.
func (m *muxBase) call(tag int) *call {
	for tag >= len(m.calls) {
		m.calls = append(m.calls, &call{frames: frames{most: m.run.o.MessageMax}})
	}
	return m.calls[tag]
}

// begin prepares the call of a tag.
func (m *muxBase) begin(op *takt.Op, tag int, r *takt.Result) {
	m.call(tag).begin(r, op.Due >= m.run.warmup)
	m.maker.fault = nil
}

// begun notes what was sent.
func (m *muxBase) begun(tag int) {
	m.calls[tag].sent, m.calls[tag].broken = m.maker.sent, m.maker.fault
}

// Head implements http2.Watcher.
func (m *muxBase) Head(tag int, contentType, _ string) { m.calls[tag].head(contentType) }

// Field implements http2.FieldWatcher.
func (m *muxBase) Field(tag int, name, value []byte, last bool) {
	m.calls[tag].field(name, value, last)
}

// Body implements http2.Watcher.
func (m *muxBase) Body(tag int, b []byte, _ bool) error { return m.calls[tag].body(b, nil) }

// End implements http2.Watcher.
func (m *muxBase) End(tag int, well bool) {
	c := m.calls[tag]
	switch {
	case well:
		c.judge(!m.run.method.server)
	case c.result.Class == http2.ClassProtocol:
		c.result.Err = errProtocol
	}
	if c.result.Class != "" {
		return
	}
	if c.result.Status = 0; c.counts {
		m.sent += c.sent
		m.received += c.messages
	}
}

// mux is a connection whose calls have one answer each.
type mux struct {
	*http2.Mux
	muxBase
}

// Begin implements takt.Mux.
func (m *mux) Begin(op *takt.Op, tag int, r *takt.Result) {
	m.begin(op, tag, r)
	m.Mux.Begin(op, tag, r)
	m.begun(tag)
}

// streamMux is a connection whose answers are streams, with their messages as parts.
type streamMux struct {
	*http.StreamMux
	muxBase
}

// Begin implements takt.Mux.
func (m *streamMux) Begin(op *takt.Op, tag int, r *takt.Result) {
	m.begin(op, tag, r)
	m.StreamMux.Begin(op, tag, r)
	m.begun(tag)
}

// Head implements http2.Watcher.
func (m *streamMux) Head(tag int, contentType, coding string) {
	m.muxBase.Head(tag, contentType, coding)
}

// Body implements http2.Watcher.
func (m *streamMux) Body(tag int, b []byte, _ bool) error {
	return m.calls[tag].body(b, func(b []byte, ends bool) error { return m.StreamMux.Body(tag, b, ends) })
}

// End implements http2.Watcher.
func (m *streamMux) End(tag int, well bool) {
	m.StreamMux.End(tag, well && !m.calls[tag].frames.inside())
	m.muxBase.End(tag, well)
}

// newMux is a connection of the run.
func (r *run) newMux() takt.Mux {
	maker := r.newMaker()
	inner := r.o.conn.NewMux(maker, http1.Options{Fail: failed})
	base := muxBase{run: r, maker: maker}
	if !r.method.server {
		m := &mux{inner, base}
		inner.Watch(m)
		r.add(&m.muxBase)
		return m
	}
	m := &streamMux{http.NewStreamMux(inner), base}
	inner.Watch(m)
	r.add(&m.muxBase)
	return m
}

// failed is the class of a status of HTTP: gRPC has only 200.
func failed(code int) string {
	if code == 200 {
		return ""
	}
	return [...]string{"other_http", "1xx", "2xx", "3xx", "4xx", "5xx"}[min(max(0, code/100), 5)]
}

// late is the error of calls that took longer than --deadline.
type late struct{ after time.Duration }

func (l late) Error() string {
	return "no status within " + l.after.String() + ", the time of --deadline"
}

// Class is that of the server's own word for it.
func (late) Class() string { return codes[codeDeadlineExceeded] }

package target

import (
	"net/http"
	"strings"
	"time"

	"github.com/taktload/takt/internal/http2/serve"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/internal/sock"
)

const (
	sizeOfKept = 64                   // bytes that a message takes besides its own
	again      = 2 * time.Millisecond // when the next message is due whose client is behind
)

// followed are the fields that say what a call is.
var followed = [...]string{":path", "content-type", "grpc-encoding"}

// call is a call of gRPC. Its fields are of the connection's goroutine, up to last, which does not change when the call
// is at the desk.
type call struct {
	by     *muxed
	method method
	in     incoming
	flow   *flow  // nil: not at the desk
	last   []byte // the last message that came, with its prefix

	// Of echoes, under the lock of the connection.
	unsaid ring.Queue[[]byte]
	kept   int // bytes in unsaid

	full bool // the client is behind; the dispatcher's
}

// hear takes what a client says on a stream, and reports whether the connection can go on.
func (m *muxed) hear(e serve.Event) bool {
	if e.Kind == serve.Gone {
		if c, ok := e.Mark.(*call); ok && c.flow != nil {
			m.desk.quit(c.flow)
		}
		return true
	}
	if e.Kind == serve.Opened {
		return m.open(e.Stream)
	}
	m.mu.Lock()
	c, _ := m.http.Marked(e.Stream).(*call)
	_, body, _ := m.http.Kept(e.Stream)
	m.mu.Unlock()
	if c == nil {
		return true // answered, or reset
	}
	came := 0
	r := c.in.feed(body, func(message []byte) *refusal {
		came++
		return m.message(c, e.Stream, message)
	})
	ends := e.Kind == serve.Arrived
	if ends && r == nil && len(c.in.partial) > 0 {
		r = refusedCut
	}
	switch {
	case r != nil:
		m.refuse(c, e.Stream, r)
	case c.method == echoes && came > 0 || c.method == echoes && ends:
		m.desk.hear(c.flow, came, ends)
	case ends:
		return m.answerCall(c, e.Stream)
	}
	return true
}

// open begins a call.
func (m *muxed) open(stream uint32) bool {
	m.mu.Lock()
	fields := m.http.Fields(stream)
	m.mu.Unlock()
	if fields == nil {
		return true // the client has reset it
	}
	path, kind, coding := fields[0], fields[1], fields[2]
	if !strings.HasPrefix(kind, callType) {
		m.desk.malformed()
		m.locked(func() {
			m.answerJSON(stream, http.StatusUnsupportedMediaType, apiError(http.StatusUnsupportedMediaType, notCall))
		})
		return true
	}
	c := &call{by: m, method: m.desk.calls.methodOf(path)}
	c.in.packed = coding == "gzip"
	switch {
	case coding != "" && coding != "gzip" && coding != "identity":
		m.refuse(c, stream, refusedCoding)
		return true
	case c.method == noMethod:
		m.refuse(c, stream, refusedMethod)
		return true
	}
	m.locked(func() {
		m.http.Mark(stream, c)
		if c.method == healthCheck || c.method == reflection {
			m.http.Begin(stream, &plainHead)
		}
	})
	return c.method != echoes || m.admitCall(c, stream, 0)
}

// message takes a message of a request.
func (m *muxed) message(c *call, stream uint32, message []byte) (r *refusal) {
	switch c.method {
	case echoes:
		m.locked(func() { r = c.keep(message) })
	case reflection:
		answer, wrong := describe(message)
		if wrong == nil {
			m.locked(func() { m.tell(stream, answer) })
		}
		return wrong
	default:
		c.last = message
	}
	return r
}

// keep keeps a message until its echo is due.
func (c *call) keep(message []byte) *refusal {
	if c.kept += len(message) + sizeOfKept; c.kept > maxUnread+maxMessage {
		return refusedMany
	}
	c.unsaid.Push(message)
	return nil
}

// answerCall answers a call whose client has sent its last message.
func (m *muxed) answerCall(c *call, stream uint32) bool {
	switch c.method {
	case healthCheck:
		m.locked(func() { m.tell(stream, serving) })
		fallthrough
	case reflection:
		m.locked(func() { m.conclude(stream) })
		return true
	case manyAnswers:
		return m.admitCall(c, stream, m.desk.sse.tokens)
	}
	return m.admitCall(c, stream, 1)
}

// admitCall brings a call to the desk, with the number of messages of its answer. It reports whether the connection can
// go on.
func (m *muxed) admitCall(c *call, stream uint32, messages int) bool {
	if !m.room() {
		return false
	}
	if c.last == nil {
		c.last = framed(nil)
	}
	c.flow = &flow{question: question{tokens: messages}, by: m, stream: stream, call: c, echo: echo{on: c.method == echoes}}
	if m.desk.admitFlow(c.flow, sock.Arrived(m.read)) == refused {
		m.drop(stream)
		return false
	}
	return true
}

// refuse ends a call that is wrong.
func (m *muxed) refuse(c *call, stream uint32, r *refusal) {
	m.desk.malformed()
	m.locked(func() {
		trailers := serve.NewAnswer("", r.trailers()...)
		if !m.http.End(stream, &trailers) {
			whole := head(r.trailers()...)
			m.http.Answer(stream, &whole)
		}
		m.http.Mark(stream, nil) // what is left of the answer may wait for the client
	})
	if c.flow != nil {
		m.desk.quit(c.flow)
	}
}

// speak adds what a move of a call sends.
func (m *muxed) speak(f *flow, v move) {
	ok := true
	switch {
	case v == moveLeave:
		return
	case v == moveFail && f.outcome == Error:
		whole := head(failedCall.trailers()...)
		m.http.Answer(f.stream, &whole)
	case v == moveFail && f.outcome == Reset:
		m.http.Reset(f.stream, wire.InternalError)
	case v == moveFail: // silent
	case v == moveBegin:
		if f.outcome != Error && f.call.method != oneAnswer {
			ok = m.http.Begin(f.stream, m.headOf(f.call))
		}
	default:
		ok = m.utter(f, v)
	}
	if !ok {
		f.gone.Store(true)
	}
}

// headOf is the head of the answer to a call. An echo of a compressed message is one.
func (m *muxed) headOf(c *call) *serve.Answer {
	if c.in.packed && m.desk.calls.message == nil {
		return &packedHead
	}
	return &plainHead
}

// utter adds a message, or the end, or both. It reports false if the stream is over.
func (m *muxed) utter(f *flow, v move) bool {
	c := f.call
	if c.method == oneAnswer && !m.http.Begin(f.stream, m.headOf(c)) {
		return false
	}
	if v != moveClose {
		message := c.last
		if c.method == echoes {
			message = c.unsaid.Pop()
			c.kept -= len(message) + sizeOfKept
		}
		if m.desk.calls.message != nil {
			message = m.desk.calls.message
		}
		if !m.http.Append(f.stream, message, false) {
			return false
		}
		c.full = m.http.Unsent(f.stream) > maxUnread
	}
	return v == moveToken || m.conclude(f.stream)
}

// behind reports whether the client of f leaves so much of the answer unread that the next message has to wait.
func (m *muxed) behind(f *flow) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.left && !f.gone.Load() && m.http.Unsent(f.stream) > maxUnread
}

// tell adds a message that needs no desk. A client that reads nothing, or whose window stays shut, loses its stream.
func (m *muxed) tell(stream uint32, message []byte) {
	if m.http.Unsent(stream) > maxUnread {
		m.http.Reset(stream, wire.EnhanceYourCalm)
	}
	m.http.Append(stream, message, false)
}

// conclude ends a good answer.
func (m *muxed) conclude(stream uint32) bool { return m.http.End(stream, &goodEnd) }

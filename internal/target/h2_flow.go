package target

import (
	"net/http"
	"strconv"

	"github.com/taktload/takt/internal/http2/serve"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/internal/sock"
)

// h2StreamHead is the head of each stream of tokens.
var h2StreamHead = serve.NewAnswer("", serve.Field{Name: ":status", Value: "200"},
	serve.Field{Name: "content-type", Value: streamType}, serve.Field{Name: "cache-control", Value: "no-cache"})

// ask brings a request to a model server, and reports whether the connection can go on.
func (m *muxed) ask(e serve.Event) bool {
	m.mu.Lock()
	target, body, long := m.http.Kept(e.Stream)
	m.mu.Unlock()
	p := pathOf([]byte(target))
	what, err := readQuestion(body, p, m.desk.sse.tokens)
	switch {
	case p == modelsPath:
		m.say(e.Stream, http.StatusOK, []byte(models))
		return true
	case long:
		m.desk.malformed()
		m.say(e.Stream, http.StatusRequestEntityTooLarge, apiError(http.StatusRequestEntityTooLarge, errLong.Error()))
		return true
	case err != nil:
		m.desk.malformed()
		m.say(e.Stream, http.StatusBadRequest, apiError(http.StatusBadRequest, err.Error()))
		return true
	}
	what.whole = what.whole || e.Head
	switch m.desk.admitFlow(&flow{question: what, by: m, stream: e.Stream}, sock.Arrived(m.read)) {
	case full:
		m.say(e.Stream, http.StatusServiceUnavailable, apiError(http.StatusServiceUnavailable, crowded))
	case refused:
		m.drop(e.Stream)
		return false
	}
	return true
}

// say ends a request with an answer of JSON.
func (m *muxed) say(stream uint32, status int, body []byte) {
	m.done(func() { m.answerJSON(stream, status, body) })
}

func (m *muxed) answerJSON(stream uint32, status int, body []byte) {
	a := serve.NewAnswer(string(body), serve.Field{Name: ":status", Value: strconv.Itoa(status)},
		serve.Field{Name: "content-type", Value: jsonType}, serve.Field{Name: "content-length", Value: strconv.Itoa(len(body))})
	m.http.Answer(stream, &a)
}

// pour implements asker. The dispatcher flushes later.
func (m *muxed) pour(f *flow, v move) {
	if v.last() {
		m.done(func() { m.part(f, v) })
	} else {
		m.locked(func() { m.part(f, v) })
	}
	if f.on && f.gone.Load() {
		m.desk.quit(f) // it may rest
	}
	m.mark()
}

// part adds what a move sends.
func (m *muxed) part(f *flow, v move) {
	s := &m.spout
	switch {
	case m.left:
		f.gone.Store(true)
	case f.call != nil:
		m.speak(f, v)
	case v == moveLeave:
	case v == moveFail && f.outcome == Error:
		m.answerJSON(f.stream, http.StatusInternalServerError, apiError(http.StatusInternalServerError, failure))
	case v == moveFail && f.outcome == Reset:
		m.http.Reset(f.stream, wire.InternalError)
	case v == moveFail: // silent
	case f.whole || f.outcome == Error:
		if v == moveEnd {
			m.answerJSON(f.stream, http.StatusOK, f.body())
		}
	case v == moveBegin:
		if !m.http.Begin(f.stream, &h2StreamHead) {
			f.gone.Store(true)
			return
		}
		s.event = f.role(s.event[:0])
		m.http.Append(f.stream, s.event, false)
	default:
		m.token(f, v)
	}
}

// token adds a token. A client that reads nothing, or whose window stays shut, loses its stream.
func (m *muxed) token(f *flow, v move) {
	s := &m.spout
	s.event = f.token(s.event[:0])
	if v == moveEnd {
		s.event = append(s.event, f.tail(nil)...)
	}
	if m.http.Unsent(f.stream) > maxUnread {
		m.http.Reset(f.stream, wire.EnhanceYourCalm)
	}
	if !m.http.Append(f.stream, s.event, v == moveEnd) {
		f.gone.Store(true)
	}
}

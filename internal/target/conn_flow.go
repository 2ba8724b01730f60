package target

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/taktload/takt/internal/sock"
)

// maxUnread is how much of a stream a client may leave unread. Then the target closes the connection.
const maxUnread = 1 << 20

// crowded is why a request is refused.
const crowded = "takt target: as many streams as --sse-limit allows are under way"

// spout writes the pieces of streams to a connection, without waiting for the client.
type spout struct {
	mu      sync.Mutex
	writing bool   // a goroutine writes rest
	ended   bool   // rest ends the answer
	rest    []byte // what the socket did not take
	event   []byte // the piece that is rendered; the dispatcher's
	framed  []byte // event with the framing of HTTP; the dispatcher's
}

// ask brings a request to a model server, and reports whether another one can follow.
func (c *conn) ask(q request) bool {
	err := c.proceed(q)
	var body []byte
	if err == nil {
		body, err = q.readBody(c.in, maxPrompt)
	}
	if err != nil {
		c.refuse(err)
		return false
	}
	if q.path == modelsPath {
		return c.say(q, http.StatusOK, []byte(models))
	}
	what, err := readQuestion(body, q.path, c.desk.sse.tokens)
	if err != nil {
		c.desk.malformed()
		return c.say(q, http.StatusBadRequest, apiError(http.StatusBadRequest, err.Error()))
	}
	what.whole = what.whole || q.head
	c.request, c.pending = q, true
	c.flow = &flow{question: what, by: c}
	switch c.desk.admitFlow(c.flow, sock.Arrived(c.read)) {
	case full:
		c.pending = false
		return c.say(q, http.StatusServiceUnavailable, apiError(http.StatusServiceUnavailable, crowded))
	case refused:
		c.pending = false
		return false
	}
	return true
}

// say sends an answer that needs no model.
func (c *conn) say(q request, status int, body []byte) bool {
	_, err := c.stream().Write(appendAnswer(nil, q, status, body))
	return err == nil
}

// appendAnswer appends an answer of JSON.
func appendAnswer(b []byte, q request, status int, body []byte) []byte {
	b = fmt.Appendf(b, "HTTP/1.1 %d %s\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n", status, http.StatusText(status), connection(q), jsonType, len(body))
	if q.head {
		return b
	}
	return append(b, body...)
}

// connection is the header that says whether the connection ends.
func connection(q request) string {
	if q.close {
		return "Connection: close\r\n"
	}
	return ""
}

// pour implements asker.
func (c *conn) pour(f *flow, m move) {
	s := &c.spout
	s.framed = s.framed[:0]
	if m == moveFail && f.outcome != Error {
		c.release(f.outcome, 0)
		return
	}
	switch {
	case m == moveFail:
		s.framed = appendAnswer(s.framed, c.request, http.StatusInternalServerError, apiError(http.StatusInternalServerError, failure))
	case m == moveLeave:
	case f.whole:
		if m == moveEnd {
			s.framed = appendAnswer(s.framed, c.request, http.StatusOK, f.body())
		}
	default:
		c.frame(f, m)
	}
	c.push(s.framed, m.last())
}

// frame renders the events of a move as chunks.
func (c *conn) frame(f *flow, m move) {
	s := &c.spout
	switch {
	case m == moveBegin && f.until == 0 && f.outcome == Error: // the status says it
	case m == moveBegin:
		s.framed = append(s.framed, "HTTP/1.1 200 OK\r\n"+"Content-Type: "+streamType+"\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n"...)
		s.framed = append(append(s.framed, connection(c.request)...), "\r\n"...)
		s.chunk(f.role(s.event[:0]))
	default:
		s.chunk(f.token(s.event[:0]))
	}
	if m == moveEnd {
		s.chunk(f.tail(s.event[:0]))
		s.framed = append(s.framed, "0\r\n\r\n"...)
	}
}

// chunk adds a chunk; an empty one would end the answer.
func (s *spout) chunk(b []byte) {
	if s.event = b; len(b) == 0 {
		return
	}
	s.framed = append(strconv.AppendInt(s.framed, int64(len(b)), 16), "\r\n"...)
	s.framed = append(append(s.framed, b...), "\r\n"...)
}

// push writes b, or leaves it to a goroutine if the client reads slowly. last: the answer ends with it.
func (c *conn) push(b []byte, last bool) {
	if c.over != nil && len(b) > 0 {
		b = c.veil.seal(c.over, b)
	}
	s := &c.spout
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.writing {
		b = b[c.send.try(b):]
	}
	if len(b) == 0 && !s.writing {
		if last {
			c.out <- struct{}{}
		}
		return
	}
	s.ended = last
	if s.rest = append(s.rest, b...); len(s.rest) > maxUnread {
		_ = c.Close()
		s.rest = s.rest[:0]
	}
	if !s.writing {
		s.writing = true
		go c.drain()
	}
}

// drain writes what the client did not read, until there is nothing left.
func (c *conn) drain() {
	s := &c.spout
	var mine []byte
	for {
		s.mu.Lock()
		mine, s.rest = s.rest, mine[:0]
		if len(mine) == 0 {
			s.writing = false
			ended := s.ended
			s.ended = false
			s.mu.Unlock()
			if ended {
				c.out <- struct{}{}
			}
			return
		}
		s.mu.Unlock()
		_, _ = c.TCPConn.Write(mine) // an error ends the reader, too
	}
}

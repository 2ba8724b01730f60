package sim

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// server is the target: an HTTP/1.1 server with known service times and the faults of the
// scenario.
type server struct {
	w        *world
	sessions []*session
	busy     int        // requests in service
	waiting  []*request // requests that wait for a worker
	requests map[uint64]*request
	looks    int // how often the client has looked at idle connections
}

// session is one connection, as the server sees it.
type session struct {
	c    *conn
	tls  *tlsSide // nil: plain
	h2   *h2side  // nil: HTTP/1.1
	in   []byte
	gone bool // closed by the client
	over bool // ended by the server
}

// request is a request whose sending began, or an operation of an asynchronous client.
type request struct {
	seq      uint64
	s        *session
	c        *conn
	begun    time.Duration // when its first byte was sent
	arrived  int           // how often it arrived whole
	answered time.Duration // when the last byte of its answer reached the client; -1: never
	status   int
	fault    string // kind of the injected fault; "": none
	holds    bool   // its stream occupies its worker

	// Of users:
	round uint64
	step  int
	set   string // the value of @set, as the target has it
	said  said
	given int // how often takt read over HTTP/2 that the target gave it back

	// Over HTTP/2:
	attempts      int           // how often takt began it
	streamRefused int           // how often takt read that its stream was refused and did not act on that yet
	cancels       int           // operations that takt had given up on its connection before
	backs         int           // how often takt wanted to begin it again
	back          bool          // it did not begin again after that
	first         time.Duration // when takt began it first
	gotBack       time.Duration // when that was, the last time
	waits         []span        // in which it had been given back before
	whole         bool          // the last attempt arrived whole
	read          time.Duration // arrival of the last bytes that takt read together with the end of the answer

	parts  []time.Duration // when the parts of its stream reached the client
	speech *speech         // nil: its answer is not a language model's

	call    *call // nil: it is no gRPC call, or has not been answered
	expired bool  // the target ended the call at its deadline

	// Of the asynchronous mode:
	token uint64
	told  time.Duration // when the report of its end to the engine returned; 0: not reported; never: in the call
	reply func()        // answers it, instead of a connection
}

func newServer(w *world) *server { return &server{w: w, requests: map[uint64]*request{}} }

func (v *server) accept(c *conn) {
	s := &session{c: c}
	c.peer = s
	if v.w.sc.shared() || v.w.sc.H2 {
		s.h2 = newH2(v, s)
	}
	v.sessions = append(v.sessions, s)
	if v.w.sc.overTLS() {
		v.shake(s)
	} else if s.h2 != nil {
		s.h2.greet()
	}
	first := len(v.sessions) == 1 // the probe: unasked bytes in its handshake would prevent the run
	if (!first || s.tls == nil) && v.w.chance("speaks first", v.w.sc.SpeaksFirst) {
		v.w.dialFault() // the operation that waits for the connection may fail before it is sent
		v.unasked(s, v.w.now)
	}
}

// unasked sends bytes that no request asked for, which look like an answer. It may then close.
func (v *server) unasked(s *session, at time.Duration) {
	if s.h2 != nil {
		s.h2.unasked()
		return
	}
	b := []byte("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	if v.w.rng.IntN(2) == 0 {
		b = []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
	s.c.faults++
	v.w.net.deliver(s.c, at+v.w.oneWay(), s.seal(b), true)
	if v.w.rng.IntN(2) == 0 {
		s.over = true
		v.w.net.end(s.c, at+v.w.oneWay()+10*time.Microsecond)
	}
}

// sent receives bytes from the client of c.
func (v *server) sent(c *conn, b []byte, t *thread) {
	w, s := v.w, c.peer
	switch {
	case s.h2 != nil && w.users != nil:
		s.h2.sending(b, t)
	case s.h2 != nil:
	case s.tls == nil && w.users == nil:
		v.plain(c, b, t)
	case c.begins:
		v.firstByte(c, t)
		v.begin(c, c.seq)
	}
	c.begins = false
	got := bytes.Clone(b)
	c.there = max(c.there, w.cur.at+w.oneWay())
	w.at(c.there, func() {
		if s.over { // the server has closed the connection
			w.net.breakOff(c, w.now+w.oneWay())
			return
		}
		if s.tls != nil {
			s.tls.arrive(got)
			return
		}
		s.in = append(s.in, got...)
		v.read(s)
	})
}

// plain notes which request the client is sending, from its unencrypted bytes.
func (v *server) plain(c *conn, b []byte, t *thread) {
	if len(c.out) == 0 {
		v.firstByte(c, t)
	}
	c.out = append(c.out, b...)
	if seq, ok := seqOf(c.out); ok {
		v.begin(c, seq)
	}
	if bytes.HasSuffix(c.out, endOfHead) {
		c.out = nil
	}
}

// begin notes that a request is being sent on c.
func (v *server) begin(c *conn, seq uint64) {
	if r := v.of(seq); r.c == nil {
		r.begun, r.c = c.begun, c
		c.requests = append(c.requests, r)
	}
}

var endOfHead = []byte("\r\n\r\n")

// firstByte notes when a request begins. It is a fault if the client should have noticed before that
// the connection is unusable, because it must look at a connection before it uses it.
func (v *server) firstByte(c *conn, t *thread) {
	w := v.w
	c.begun = w.cur.at
	before := lookBefore
	if v.looks >= trusted {
		before += trustedFor
	}
	known := func(what string, at time.Duration) {
		stood := t.stalled.from <= w.cur.at && t.stalled.to >= at
		if at >= 0 && at < w.cur.at-before && !stood {
			w.report.fault("blind send", "a request was sent on %d, where %s had arrived %v before", c.fd, what, w.cur.at-at)
		}
	}
	known("the end", c.ended)
	known("a reset", c.reset)
	if len(c.in) > 0 && (c.peer.tls == nil || c.in[0].unasked) {
		known("something unasked", c.in[0].at)
	}
}

const (
	// lookBefore is how long before a request the client's look at the connection may be.
	lookBefore = 100 * time.Microsecond
	// trusted: after so many looks the client may skip the look at a connection that was idle
	// for less than trustedFor (docs/engine.md).
	trusted    = 4096
	trustedFor = time.Millisecond
)

func (v *server) of(seq uint64) *request {
	r := v.requests[seq]
	if r == nil {
		r = &request{seq: seq, answered: -1}
		v.requests[seq] = r
	}
	return r
}

// seqOf reads the operation's number from the beginning of a request; ok: it was complete.
func seqOf(b []byte) (seq uint64, ok bool) {
	rest, ok := bytes.CutPrefix(b, []byte("GET /"))
	if !ok {
		return 0, false
	}
	digits, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	return seq, err == nil
}

// read serves the requests that have arrived whole.
func (v *server) read(s *session) {
	if s.h2 != nil {
		s.h2.read()
		return
	}
	for {
		head, rest, whole := bytes.Cut(s.in, endOfHead)
		if !whole {
			return
		}
		r := v.asked(s, head)
		if r == nil {
			v.w.report.fault("request", "malformed request: %q", head)
			s.in = nil
			return
		}
		s.in = rest
		seq := r.seq
		r.s = s
		if r.arrived++; r.arrived > 1 {
			v.w.report.fault("double send", "request %d arrived %d times", seq, r.arrived)
			return
		}
		v.serve(r)
	}
}

// asked is the request with this head; nil: there is none. Those of users have the number of their round and step.
func (v *server) asked(s *session, head []byte) *request {
	if v.w.users == nil {
		seq, ok := seqOf(head)
		if !ok {
			return nil
		}
		return v.of(seq)
	}
	if len(s.c.requests) == 0 {
		return nil
	}
	r := s.c.requests[len(s.c.requests)-1]
	line, _, _ := strings.Cut(string(head), " HTTP/1.1\r\n")
	if target, get := strings.CutPrefix(line, "GET "); !get || !r.names(target, v.w.sc.Script) {
		return nil
	}
	return r
}

// serve starts the service of a request, or queues it for a worker.
func (v *server) serve(r *request) {
	if v.w.sc.Workers > 0 && v.busy >= v.w.sc.Workers {
		v.waiting = append(v.waiting, r)
		return
	}
	v.busy++
	w := v.w
	took := w.sc.Service/2 + time.Duration(w.rng.Int64N(int64(w.sc.Service)+1))
	done := w.now + took
	for _, f := range w.sc.Freezes {
		if w.now < f.To && done > f.From {
			done += f.To - max(w.now, f.From)
			w.report.injected["frozen"]++
		}
	}
	w.at(done, func() {
		if v.answer(r); !r.holds {
			v.free()
		}
	})
}

// free lets the worker that has finished serve the next request.
func (v *server) free() {
	v.busy--
	if len(v.waiting) > 0 {
		next := v.waiting[0]
		v.waiting = v.waiting[1:]
		v.serve(next)
	}
}

// answer sends the answer of r, or injects a fault instead.
func (v *server) answer(r *request) {
	w, sc, s := v.w, v.w.sc, r.s
	if r.reply != nil {
		r.reply()
		return
	}
	if s.gone || s.over {
		return
	}
	fault := func(name string, p float64) bool {
		if !w.chance(name, p) {
			return false
		}
		r.fault = name
		s.c.faults++
		return true
	}
	r.status = 200
	if w.rng.Float64() < sc.Refuses {
		r.status = 503
		w.report.injected["503"]++
	}
	if sc.Parts > 0 && r.status == 200 {
		v.stream(r, s.c, v.chunked(r))
		return
	}
	location := ""
	if to := v.redirect(r); to != "" {
		location = "Location: " + to + "\r\n"
	}
	body := v.body(r, w.rng.IntN(sc.Body+1))
	b := fmt.Appendf(nil, "HTTP/1.1 %d Whatever\r\n%sX-Seq: %d\r\nContent-Length: %d\r\n\r\n%s", r.status, location, r.seq, len(body), body)
	if w.rng.IntN(4) == 0 {
		b = fmt.Appendf(nil, "HTTP/1.1 %d Whatever\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\n\r\n0\r\n\r\n", r.status, location, len(body)+1, body)
	}
	b = s.seal(b)
	at := w.now + w.oneWay()
	switch {
	case fault("silence", sc.Silence):
		return
	case fault("reset", sc.Resets):
		s.over = true
		w.net.breakOff(s.c, at)
		return
	case fault("cut", sc.Cuts): // before any byte, even the first
		s.over = true
		n := w.rng.IntN(len(b))
		if n > 0 {
			w.net.deliver(s.c, at, b[:n], false)
		}
		w.net.end(s.c, at+time.Microsecond)
		return
	case fault("garbage", sc.Garbage):
		w.net.deliver(s.c, at, []byte("\x00\xff nothing\r\n\r\n"), false)
		return
	}
	last := v.write(s.c, at, b, r)
	switch {
	case fault("silent close", sc.Closes):
		s.over = true
		w.net.end(s.c, last+time.Duration(1+w.rng.Int64N(int64(sc.Service)))) // the answer does not announce it
	case fault("bytes behind", sc.Stray):
		v.unasked(s, last+time.Duration(w.rng.Int64N(int64(2*sc.Service))))
	}
}

// write sends b, in pieces if a drip is injected, and returns when the last byte arrives.
func (v *server) write(c *conn, at time.Duration, b []byte, r *request) (last time.Duration) {
	w := v.w
	if w.chance("drip", w.sc.Drips) {
		for len(b) > 1 {
			n := 1 + w.rng.IntN(len(b))
			if n == len(b) {
				break
			}
			w.net.deliver(c, at, b[:n], false)
			b = b[n:]
			at += time.Duration(1 + w.rng.Int64N(int64(500*time.Microsecond)))
		}
	}
	w.net.deliver(c, at, b, false)
	w.at(c.back, func() {
		if !c.gone && c.reset < 0 && c.ended < 0 {
			r.answered = w.now
		}
	})
	return c.back
}

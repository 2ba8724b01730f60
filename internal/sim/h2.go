package sim

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/hpack"
	"github.com/taktload/takt/internal/http2/allowed"
)

// h2side is the target's side of a connection over HTTP/2. Only header compression is the client's
// own code: h2side reads and writes the frames by itself, so that a mistake does not occur on both
// sides, and internal/http2/allowed knows what the client may send.
type h2side struct {
	v       *server
	w       *world
	s       *session
	c       *conn
	greeted bool // the client's preface came
	late    bool // the first settings wait for it
	dec     *hpack.Decoder
	enc     *hpack.Encoder
	block   []byte  // of the headers that are not complete
	until   *stream // the stream of block; nil: none
	ends    bool    // block ends its stream
	streams map[uint32]*stream
	open    []*stream       // those that are not over, by id
	may     *allowed.Client // what the client may send
	newest  settings        // the settings that were sent last
	last    int64           // of the last GOAWAY; -1: none was sent
	leaving bool            // the connection ends with its last stream
	mute    bool            // nothing is sent any more
	resets  int             // streams that the client reset
	sent    []uint64        // operations of users whose headers are on the way
	pings   int             // without an answer
}

// settings is the settings of a connection that matter to the oracle.
type settings struct {
	streams int
	window  int64
	table   uint32
}

// stream is one attempt of a request.
type stream struct {
	id      uint32
	r       *request
	asks    []byte // the body of the request
	body    int    // bytes of it that came
	ignored bool   // the target has not taken it
	whole   bool   // the request came whole
	served  bool   // the target works on it
	over    bool   // the answer was sent, or the stream was reset
	begun   bool   // a part of the answer was sent
	strange bool   // the client may complain about the answer
}

// Types and flags of frames (RFC 9113, 6).
const (
	h2Data, h2Headers, h2Priority, h2Reset, h2Settings  = 0, 1, 2, 3, 4
	h2Push, h2Ping, h2GoAway, h2Window, h2Continuation  = 5, 6, 7, 8, 9
	h2EndStream, h2Ack, h2EndHeaders, h2Padded, h2First = 1, 1, 4, 8, 32

	h2Preface   = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	h2Frame     = 16384
	h2AtFirst   = 100 // streams that a client may open before it knows the settings
	h2Unlimited = 1<<31 - 1
)

func newH2(v *server, s *session) *h2side {
	return &h2side{
		v: v, w: v.w, s: s, c: s.c, dec: hpack.NewDecoder(4096, 1<<20), enc: hpack.NewEncoder(),
		streams: map[uint32]*stream{}, may: allowed.New(h2AtFirst), newest: settings{h2AtFirst, allowed.FirstWindow, allowed.FirstTable}, last: -1,
	}
}

func frame(kind, flags byte, id uint32, payload []byte) []byte {
	n := len(payload)
	b := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, id), payload...)
}

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// wrong notes that the client broke a rule of HTTP/2.
func (h *h2side) wrong(format string, args ...any) { h.w.report.fault("protocol", format, args...) }

// read handles the frames that came.
func (h *h2side) read() {
	s := h.s
	if !h.greeted {
		if len(s.in) < len(h2Preface) {
			return
		}
		if string(s.in[:len(h2Preface)]) != h2Preface {
			h.wrong("the connection begins with %q", s.in)
		}
		if h.greeted, s.in = true, s.in[len(h2Preface):]; h.late {
			h.w.at(h.w.now+time.Duration(h.w.rng.Int64N(int64(h.w.sc.Service))), func() {
				h.hello()
				h.read()
			})
		}
	}
	if h.late {
		return
	}
	for len(s.in) >= 9 && !s.over {
		n := int(s.in[0])<<16 | int(s.in[1])<<8 | int(s.in[2])
		if n > h2Frame {
			h.wrong("a frame of %d bytes", n)
		}
		if len(s.in) < 9+n {
			return
		}
		f := s.in[:9+n]
		s.in = s.in[9+n:]
		h.frame(f[3], f[4], binary.BigEndian.Uint32(f[5:]), f[9:])
	}
}

func (h *h2side) frame(kind, flags byte, id uint32, b []byte) {
	if h.until != nil && (kind != h2Continuation || id != h.until.id) {
		h.wrong("a frame of type %d within the headers of stream %d", kind, h.until.id)
		return
	}
	switch kind {
	case h2Headers:
		h.onHeaders(flags, id, b)
	case h2Continuation:
		h.block = append(h.block, b...)
		h.onBlock(flags)
	case h2Data:
		h.onData(flags, id, b)
	case h2Reset:
		h.onReset(id, binary.BigEndian.Uint32(b))
	case h2Settings:
		h.onSettings(flags, b)
	case h2Ping:
		if flags&h2Ack == 0 || h.pings == 0 {
			h.wrong("an unexpected PING")
		}
		h.pings--
	case h2GoAway:
		if code := binary.BigEndian.Uint32(b[4:]); code != 0 && h.c.faults == 0 {
			h.wrong("the client ended a connection without a fault with code %d", code)
		}
	case h2Window:
		if n := binary.BigEndian.Uint32(b); n == 0 || n > h2Unlimited {
			h.wrong("a WINDOW_UPDATE of %d", n)
		}
	default:
		h.wrong("a frame of type %d", kind)
	}
}

func (h *h2side) onSettings(flags byte, b []byte) {
	if flags&h2Ack == 0 {
		h.put(frame(h2Settings, h2Ack, 0, nil), nil, nil)
		return
	}
	if len(b) > 0 {
		h.wrong("an acknowledgment of SETTINGS with %d bytes", len(b))
	}
	h.must(h.may.Acknowledged())
}

// must notes an error as what the client did against a rule, and reports whether there is none.
func (h *h2side) must(err error) bool {
	if err != nil {
		h.wrong("%v", err)
	}
	return err == nil
}

// onHeaders begins a stream.
func (h *h2side) onHeaders(flags byte, id uint32, b []byte) {
	if !h.must(h.may.Begin(id)) {
		return
	}
	if flags&h2EndStream != 0 {
		h.may.Ended(id)
	}
	st := &stream{id: id}
	h.streams[id] = st
	h.until, h.ends, h.block = st, flags&h2EndStream != 0, bytes.Clone(b)
	h.onBlock(flags)
}

// sending notes the operation of a user whose headers are among whole frames that are being sent.
func (h *h2side) sending(b []byte, t *thread) {
	for b = bytes.TrimPrefix(b, []byte(h2Preface)); len(b) >= 9; {
		if b[3] == h2Headers {
			h.v.firstByte(h.c, t)
			r := h.v.of(t.seq)
			r.c, r.begun = h.c, h.c.begun
			h.c.requests, h.sent = append(h.c.requests, r), append(h.sent, t.seq)
		}
		b = b[9+(int(b[0])<<16|int(b[1])<<8|int(b[2])):]
	}
}

func (h *h2side) onBlock(flags byte) {
	if flags&h2EndHeaders == 0 {
		return
	}
	st := h.until
	h.until = nil
	h.must(h.may.Block(h.block))
	seq, length, known := uint64(0), -1, false
	target, fields := "", map[string]string{}
	err := h.dec.Decode(h.block, func(name, value []byte) {
		if fields[string(name)] = string(value); h.w.sc.GRPC {
			return
		}
		switch string(name) {
		case ":path":
			target = string(value)
			var err error
			seq, err = strconv.ParseUint(string(value[1:]), 10, 64)
			known = err == nil
		case "content-length":
			length, _ = strconv.Atoi(string(value))
		}
	})
	if h.w.users != nil {
		if known = len(h.sent) > 0; known {
			seq, h.sent = h.sent[0], h.sent[1:]
			known = h.v.of(seq).names(target, h.w.sc.Script)
		}
	}
	if h.w.sc.GRPC {
		h.asks(fields)
		var e error
		seq, e = strconv.ParseUint(fields["seq"], 10, 64)
		known = e == nil
	} else if length != upload(h.w.sc, seq) {
		known = false
	}
	if err != nil || !known {
		h.wrong("malformed headers of operation %d, length %d: %v", seq, length, err)
		return
	}
	st.r, st.asks = h.v.of(seq), h.w.sc.bodyOf(seq)
	h.began(st)
}

// began decides what becomes of a stream whose headers came.
func (h *h2side) began(st *stream) {
	w, sc, r := h.w, h.w.sc, st.r
	if h.last >= 0 && int64(st.id) > h.last {
		st.ignored = true // the GOAWAY says so
		return
	}
	h.open = append(h.open, st)
	if most := min(h.may.Streams, int64(sc.Streams)); int64(len(h.open)) > most {
		w.report.fault("limit", "operation %d is the %dth at once on %d, at most %d may be", r.seq, len(h.open), h.c.fd, most)
	}
	if r.arrived++; r.arrived > 1 {
		w.report.fault("double send", "request %d arrived %d times", r.seq, r.arrived)
	}
	r.s, r.whole, r.call, r.expired = h.s, false, nil, false
	if sc.Deadline {
		h.expire(st)
	}
	if h.resets < r.cancels {
		h.wrong("takt gave up %d operations before operation %d, but reset only %d streams", r.cancels, r.seq, h.resets)
	}
	h.disturb()
	switch {
	case st.ignored:
	case w.chance("refused stream", sc.RefusedStreams):
		h.refuseStream(st)
	case h.ends:
		h.complete(st)
	default:
		h.widen(st)
		if w.chance("early answer", sc.Early) {
			h.serve(st)
		}
	}
}

func (h *h2side) onData(flags byte, id uint32, b []byte) {
	_, err := h.may.Data(id, len(b))
	if !h.must(err) {
		return
	}
	if flags&h2EndStream != 0 {
		h.may.Ended(id)
	}
	st := h.streams[id]
	h.widenConn(len(b))
	if st.ignored || st.r == nil {
		return
	}
	for _, x := range b {
		if st.body >= len(st.asks) || x != st.asks[st.body] {
			h.wrong("byte %d of the body of operation %d is %d", st.body, st.r.seq, x)
			break
		}
		st.body++
	}
	if flags&h2EndStream != 0 {
		if st.body != len(st.asks) {
			h.wrong("the body of operation %d has %d bytes", st.r.seq, st.body)
		}
		if !st.whole {
			h.complete(st)
		}
	}
}

// widen lets the client send more of a body, until it is complete.
func (h *h2side) widen(st *stream) {
	h.w.at(h.w.now+time.Duration(1+h.w.rng.Int64N(int64(h.w.sc.Service))), func() {
		if st.over || st.whole || h.s.over || h.s.gone || h.mute {
			return
		}
		if h.may.Window(st.id) < 1000 {
			n := 1 + h.w.rng.Uint32N(4000)
			h.may.Grant(st.id, int64(n))
			h.put(frame(h2Window, 0, st.id, number(n)), nil, nil)
		}
		h.widen(st)
	})
}

// widenConn allows n more bytes of DATA on the connection, a little later.
func (h *h2side) widenConn(n int) {
	if n == 0 {
		return
	}
	h.w.at(h.w.now+time.Duration(1+h.w.rng.Int64N(int64(h.w.sc.Service))), func() {
		h.may.Grant(0, int64(n))
		h.put(frame(h2Window, 0, 0, number(uint32(n))), nil, nil)
	})
}

func (h *h2side) onReset(id, code uint32) {
	if !h.must(h.may.Reset(id)) {
		return
	}
	st := h.streams[id]
	if code != 8 && !st.strange && h.c.faults == 0 {
		h.wrong("the client reset stream %d without a fault, with code %d", id, code)
	}
	h.c.canceled = true
	h.resets++
	h.close(st)
}

// answered notes that the answer of st was sent. The stream is open until the client has sent all of
// the request, or reset the stream.
func (h *h2side) answered(st *stream) {
	h.may.Answered(st.id)
	if st.over = true; st.whole {
		h.close(st)
	}
}

// close ends a stream.
func (h *h2side) close(st *stream) {
	st.over = true
	h.may.Close(st.id)
	h.open = slices.DeleteFunc(h.open, func(o *stream) bool { return o == st })
	if h.leaving && len(h.open) == 0 {
		h.end()
	}
}

// end closes the connection after its last answer.
func (h *h2side) end() {
	if h.w.rng.IntN(4) == 0 {
		return // the client should close it, too
	}
	h.w.at(h.w.now+time.Duration(h.w.rng.Int64N(int64(h.w.sc.Service))), func() {
		if !h.s.over && !h.s.gone {
			h.s.over = true
			h.w.net.end(h.c, h.w.now+h.w.oneWay())
		}
	})
}

// complete serves a request that came whole.
func (h *h2side) complete(st *stream) {
	st.whole, st.r.whole = true, true
	switch {
	case st.over:
		h.close(st)
	case !st.served:
		h.serve(st)
	}
}

func (h *h2side) serve(st *stream) {
	st.served = true
	h.v.serve(&request{seq: st.r.seq, reply: func() { h.reply(st) }})
}

// put sends frames. arrived is called when they reach the client, read when it reads them, with the
// instant of the last bytes that it reads with them.
func (h *h2side) put(b []byte, arrived func(), read func(at time.Duration)) {
	if h.s.over || h.s.gone || h.mute {
		return
	}
	w, c := h.w, h.c
	b = h.s.seal(b)
	at := w.now + w.oneWay()
	if w.chance("drip", w.sc.Drips) {
		for len(b) > 1 && w.rng.IntN(4) > 0 {
			n := 1 + w.rng.IntN(len(b)-1)
			w.net.deliver(c, at, b[:n], false)
			b = b[n:]
			at += time.Duration(1 + w.rng.Int64N(int64(500*time.Microsecond)))
		}
	}
	w.net.bring(c, at, chunk{bytes: b, read: read})
	if arrived != nil {
		w.at(c.back, func() {
			if !c.gone && c.reset < 0 && c.ended < 0 {
				arrived()
			}
		})
	}
}

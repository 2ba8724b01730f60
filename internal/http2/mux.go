// Package http2 is the client side of HTTP/2 (RFC 9113) for one connection with many requests at
// once, without allocations: header blocks are encoded once and then repeated, answers are
// counted and not kept.
package http2

import (
	"github.com/taktload/takt/internal/hpack"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/pkg/takt"
)

const (
	// streamsAtFirst is how many streams a peer is trusted with before its first SETTINGS come:
	// the least that RFC 9113, 6.5.2, recommends.
	streamsAtFirst = 100
	// outMost is the largest size of what is to be sent. A peer that asks for more with PING and
	// SETTINGS does not read the answers.
	outMost = 1 << 20
	// idleMost is the largest number of frames in a row that bring nothing to any answer.
	idleMost = 10_000
	// tableAtFirst is the size of a new Mux's table of streams, a power of two. One stream at a time needs tableOfOne.
	tableAtFirst = 256
	tableOfOne   = 4
	// ourWindow is what we allow each stream, and the connection; nothing is kept of it.
	ourWindow  = 1 << 30
	refillFrom = ourWindow / 2
)

// Mux is a takt.Mux. It is not safe for concurrent use.
type Mux struct {
	requests Requests
	opt      http1.Options
	streams  int // most at once, by our own choice

	out     []byte
	sent    int // the first bytes of out, which are sent
	dec     *hpack.Decoder
	enc     *hpack.Encoder
	req     Request
	known   known
	emit    func(name, value []byte) // m.field, made once
	list    []takt.MuxEvent          // of the call of Parse
	peer    peer
	table   []stream // by half of the id, modulo its size, a power of two
	tags    []uint32 // the last stream of each tag
	next    uint32   // id from which the next stream takes one
	open    int      // streams that are not over
	closing bool     // no stream may be opened any more
	ended   *fault   // of the streams that wait for an answer when the connection ends
	torn    *fault   // of the streams whose answer has begun then
	window  int64    // bytes of DATA that we may send
	credit  int64    // bytes of DATA that the peer may send
	sending []uint32 // ids of streams with a body to send, in turn
	words   []byte   // of a server that speaks something else
	early   uint64   // answers that came before their request was sent
	idle    int      // frames in a row that brought nothing
	reading wire.Reader
	head    head    // being decoded
	watcher Watcher // nil: nobody watches
	fields  FieldWatcher
	kind    string // the last content-type: most answers have the same
}

// Watcher sees answers while they come. Its methods are called within Parse.
type Watcher interface {
	// Head: the final head of an answer that did not fail has come. coding is as http1.JoinCodings has it.
	Head(tag int, contentType, coding string)
	// Body has the next bytes of its body; ends: a frame of DATA ends with them. An error is the failure of the answer,
	// of the class too_large if the error has no method Class() string.
	Body(tag int, b []byte, ends bool) error
	// End: the operation is over, well or not.
	End(tag int, well bool)
}

// FieldWatcher is a Watcher that sees also the header fields of final heads and trailers, before the call of Head or End.
type FieldWatcher interface {
	// Field has a field, valid during the call. last: it belongs to trailers, or to a head without a body.
	Field(tag int, name, value []byte, last bool)
}

// Watch lets w see the answers.
func (m *Mux) Watch(w Watcher) {
	m.watcher = w
	m.fields, _ = w.(FieldWatcher)
}

// peer is what the SETTINGS of the other side say.
type peer struct {
	heard   bool // they came
	streams int
	window  int64 // of each new stream
	frame   int
}

// known is the header block of a request that was sent before.
type known struct {
	of      *Rendered
	block   []byte
	changes uint64 // of the encoder's table, as of block
}

// stream is one request and its answer.
type stream struct {
	id     uint32 // 0: none
	tag    int
	r      *takt.Result
	body   []byte     // what is left to send of the request's
	own    []byte     // buffer of a body that the Mux must copy
	window int64      // bytes of DATA that we may send
	credit int64      // bytes of DATA that the peer may send
	length int64      // content-length; -1: not given
	got    int64      // bytes of the answer's body
	heads  int        // bytes of the answer's headers so far
	class  string     // result of Options.Fail
	kept   http1.Kept // body for Options.Check
	coding string     // of the body
	state  state
	queued bool // the stream is in sending
	quiet  bool // its answer has no body: HEAD
}

type state uint8

const (
	waiting state = iota // for the answer
	begun                // interim answers came
	inBody               // the final head came
)

// New returns a Mux with at most streams requests at once. Only with one at a time it is known whose header lines opt.Field
// receives.
func New(requests Requests, opt http1.Options, streams int) *Mux {
	m := &Mux{requests: requests, opt: opt.WithDefaults(), streams: streams, enc: hpack.NewEncoder()}
	m.dec = hpack.NewDecoder(4096, m.opt.MaxHead)
	m.emit = m.field
	size := tableAtFirst
	if streams == 1 {
		size = tableOfOne
	}
	m.table = make([]stream, size)
	m.Open()
	return m
}

// Open implements takt.Mux.
func (m *Mux) Open() {
	for i := range m.table {
		s := &m.table[i]
		s.kept.Reset()
		*s = stream{own: s.own, kept: s.kept}
	}
	m.dec.Reset()
	m.enc.Reset()
	m.known.of = nil
	first := streamsAtFirst
	if m.peer.heard { // the limit of the connection before: what a server does not take six times fails
		first = min(first, m.peer.streams)
	}
	m.peer = peer{streams: first, window: wire.FirstWindow, frame: wire.LeastFrame}
	m.next, m.open, m.closing, m.idle = 1, 0, false, 0
	m.ended, m.torn = errClosed, errTruncated
	m.window, m.credit = wire.FirstWindow, ourWindow
	m.sending = m.sending[:0]
	m.reading.Reset()
	m.sent = 0
	m.out = append(m.out[:0], wire.Preface...)
	m.out = wire.AppendHeader(m.out, 3*wire.SettingLength, wire.Settings, 0, 0)
	m.out = wire.AppendSetting(m.out, wire.SettingPush, 0)
	m.out = wire.AppendSetting(m.out, wire.SettingWindow, ourWindow)
	m.out = wire.AppendSetting(m.out, wire.SettingHeaders, uint32(m.opt.MaxHead))
	m.out = wire.AppendNumber(m.out, wire.Window, 0, ourWindow-wire.FirstWindow)
}

// Limit implements takt.Mux.
func (m *Mux) Limit() int {
	if m.closing {
		return -1
	}
	return min(m.streams, m.peer.streams)
}

// Early is the number of answers that came before the whole request was sent.
func (m *Mux) Early() uint64 { return m.early }

// Allowed is the number of streams that the peer allows at once.
func (m *Mux) Allowed() int { return m.peer.streams }

// at is the stream with this id, or nil.
func (m *Mux) at(id uint32) *stream {
	if s := m.place(id); s.id == id && id != 0 {
		return s
	}
	return nil
}

func (m *Mux) place(id uint32) *stream { return &m.table[id>>1&uint32(len(m.table)-1)] }

// newID skips ids whose place in the table is taken by an older stream. Ids need not be
// consecutive (RFC 9113, 5.1.1).
func (m *Mux) newID() uint32 {
	if 2*(m.open+1) > len(m.table) {
		m.grow()
	}
	for m.place(m.next).id != 0 {
		m.next += 2
	}
	id := m.next
	if m.next += 2; m.next >= wire.MostStream-2*uint32(len(m.table)) {
		m.closing = true
	}
	return id
}

func (m *Mux) grow() {
	old := m.table
	m.table = make([]stream, 2*len(old))
	for i := range old {
		if s := &old[i]; s.id != 0 {
			*m.place(s.id) = *s
		}
	}
}

// Begin implements takt.Mux.
func (m *Mux) Begin(op *takt.Op, tag int, r *takt.Result) {
	q := &m.req
	m.requests.Request(q, op)
	id := m.newID()
	s := m.place(id)
	*s = stream{id: id, tag: tag, r: r, own: s.own, kept: s.kept, window: m.peer.window, credit: ourWindow, length: -1, quiet: q.Head}
	for tag >= len(m.tags) {
		m.tags = append(m.tags, 0)
	}
	m.tags[tag] = id
	m.open++
	m.compact()
	before := len(m.out)
	m.appendHead(q, id)
	r.BytesSent += int64(len(m.out) - before)
	if len(q.Body) > 0 {
		if s.body = q.Body; !q.Lasts {
			s.own = append(s.own[:0], q.Body...)
			s.body = s.own
		}
		m.enqueue(s)
	}
	if q.Last {
		m.closing = true
	}
}

func (m *Mux) enqueue(s *stream) {
	if !s.queued {
		s.queued = true
		m.sending = append(m.sending, s.id)
	}
}

// appendHead appends the HEADERS of q, with CONTINUATION where they are long.
func (m *Mux) appendHead(q *Request, id uint32) {
	var flags byte = wire.FlagEndHeaders
	if len(q.Body) == 0 {
		flags |= wire.FlagEndStream
	}
	from := len(m.out)
	m.out = wire.AppendHeader(m.out, 0, wire.Headers, flags, id)
	m.appendBlock(q)
	if n := len(m.out) - from - wire.HeaderLength; n > m.peer.frame {
		m.split(from, id)
		return
	}
	wire.SetLength(m.out[from:])
}

// appendBlock appends the header block of q, the same as before where that is known.
func (m *Mux) appendBlock(q *Request) {
	k := &m.known
	if q.Same != nil && k.of == q.Same && k.changes == m.enc.Changes() {
		m.out = append(m.out, k.block...)
		return
	}
	from, changes := len(m.out), m.enc.Changes()
	m.out = m.enc.Begin(m.out)
	for i := range q.Fields {
		f := &q.Fields[i]
		m.out = m.enc.Field(m.out, f.Name, f.Value, f.Keep)
	}
	if k.of = nil; q.Same != nil && changes == m.enc.Changes() {
		k.of, k.changes = q.Same, changes
		k.block = append(k.block[:0], m.out[from:]...)
	}
}

// split cuts the long HEADERS frame at from into frames that the peer takes.
func (m *Mux) split(from int, id uint32) {
	flags := m.out[from+4]
	block := append([]byte(nil), m.out[from+wire.HeaderLength:]...)
	m.out = m.out[:from]
	for kind := byte(wire.Headers); len(block) > 0; kind = wire.Continuation {
		n := min(len(block), m.peer.frame)
		now := flags
		if kind == wire.Continuation {
			now &^= wire.FlagEndStream
		}
		if n < len(block) {
			now &^= wire.FlagEndHeaders
		}
		m.out = append(wire.AppendHeader(m.out, n, kind, now, id), block[:n]...)
		block = block[n:]
	}
}

// Cancel implements takt.Mux.
func (m *Mux) Cancel(tag int) {
	if s := m.at(m.tags[tag]); s != nil && s.tag == tag {
		m.reset(s.id, wire.Cancel)
		m.forget(s)
	}
}

// forget ends s without an event.
func (m *Mux) forget(s *stream) {
	s.kept.Reset()
	*s = stream{own: s.own, kept: s.kept}
	m.open--
}

func (m *Mux) reset(id uint32, c wire.Code) {
	m.out = wire.AppendNumber(m.out, wire.Reset, id, uint32(c))
}

// Out implements takt.Mux.
func (m *Mux) Out() []byte {
	m.compact()
	m.pump()
	return m.out[m.sent:]
}

// Sent implements takt.Mux.
func (m *Mux) Sent(n int) { m.sent += n }

// compact removes what is sent.
func (m *Mux) compact() { m.out, m.sent = wire.Compact(m.out, m.sent) }

// pump appends DATA of the requests' bodies, in turn, as far as the windows allow.
func (m *Mux) pump() {
	for turns := len(m.sending); turns > 0 && m.window > 0 && len(m.out)-m.sent < wire.OutFull; turns = len(m.sending) {
		id := m.sending[0]
		m.sending = m.sending[:copy(m.sending, m.sending[1:])]
		s := m.at(id)
		if s == nil {
			continue // its answer came before its body was sent
		}
		n := int(min(int64(len(s.body)), s.window, m.window, int64(m.peer.frame)))
		if s.queued = false; n <= 0 {
			continue // a WINDOW_UPDATE brings it back
		}
		var flags byte
		if n == len(s.body) {
			flags = wire.FlagEndStream
		}
		m.out = append(wire.AppendHeader(m.out, n, wire.Data, flags, id), s.body[:n]...)
		m.idle = 0
		s.body = s.body[n:]
		s.window -= int64(n)
		m.window -= int64(n)
		s.r.BytesSent += int64(wire.HeaderLength + n)
		if len(s.body) > 0 {
			m.enqueue(s)
		}
	}
}

// Close implements takt.Mux.
func (m *Mux) Close() {
	m.out = wire.AppendHeader(m.out, 8, wire.GoAway, 0, 0)
	m.out = append(m.out, 0, 0, 0, 0, 0, 0, 0, byte(wire.NoError))
}

// Package serve is the server side of HTTP/2 (RFC 9113) for one connection, without sockets: it
// reads bytes and reports requests, and turns answers into bytes. It keeps nothing of a request
// except its stream. Its answers are rendered before, so that an answer allocates nothing.
package serve

import (
	"math"

	"github.com/taktload/takt/internal/hpack"
	"github.com/taktload/takt/internal/http2/wire"
)

const (
	// maxHead is the largest size of a request's head.
	maxHead = 64 << 10
	// ourWindow is what we allow each stream, and the connection; nothing is kept of a body.
	ourWindow  = 1 << 30
	refillFrom = ourWindow / 2
)

// Conn is the protocol of one connection. It is not safe for concurrent use.
type Conn struct {
	limit   int      // streams at once
	keep    int      // bytes of the body of a request that are kept
	follow  []string // names of the fields that are kept of a head; empty: a request is reported when it is whole
	left    int      // streams that are accepted before GOAWAY; 0 or less: any number
	out     []byte
	sent    int // the first bytes of out, which are sent
	dec     *hpack.Decoder
	emit    func(name, value []byte) // c.field, made once
	list    []Event                  // of the call of Parse
	greeted int                      // bytes of the client's preface that came
	heard   bool                     // the client's SETTINGS came
	told    bool                     // a block of ours has said that our table has no size
	closing bool                     // we sent GOAWAY
	streams map[uint32]*stream
	spare   []*stream
	last    uint32   // highest id of a stream that the client opened before GOAWAY
	late    uint32   // highest id of a stream after GOAWAY
	initial int64    // window of each new stream
	frame   int      // largest payload that the client accepts
	window  int64    // bytes of DATA that we may send
	credit  int64    // bytes of DATA that the client may send
	sending []uint32 // ids of streams with a body to send, in turn
	reading wire.Reader
	head    head // being decoded
}

// stream is a request and its answer, from the request's head to the end of the answer.
type stream struct {
	id     uint32
	head   bool     // the method is HEAD
	whole  bool     // the request has ended
	open   bool     // the answer goes on after body
	queued bool     // the stream is in sending
	body   []byte   // what is left to send of the answer's; that of an Answer is not ours
	window int64    // bytes of DATA that we may send
	credit int64    // bytes of DATA that the client may send
	length int64    // content-length; -1: not given
	got    int64    // bytes of the request's body
	path   string   // only with Keep
	kept   []byte   // the beginning of the request's body
	ending []byte   // block of trailers that end the answer; nil: none
	fields []string // only with Follow
	mark   any      // see Mark
}

// Event is what Parse found.
type Event struct {
	Stream uint32
	Kind   Kind
	Head   bool // the method is HEAD
	Mark   any  // of Gone: see Mark
}

// Kind is the kind of an Event.
type Kind uint8

// The kinds of events.
const (
	Arrived   Kind = iota // a whole request
	Malformed             // not a request; its stream was reset
	Refused               // a stream above the limit, or after GOAWAY: it is not accepted
	Opened                // only with Follow: the head of a request
	Came                  // only with Follow: bytes of its body, for Kept
	Gone                  // only with Follow: the client reset a stream, or broke the protocol on it
)

// Answer is an answer in the form of HTTP/2, for any number of connections.
type Answer struct {
	block []byte
	body  []byte
}

// Field is a header of an answer, its name in lower case.
type Field struct{ Name, Value string }

// NewAnswer renders an answer. Its block uses no dynamic table, so it fits every connection.
func NewAnswer(body string, fields ...Field) Answer {
	return Answer{render(fields...), []byte(body)}
}

func render(fields ...Field) (block []byte) {
	e := hpack.NewEncoder()
	for _, f := range fields {
		block = e.Field(block, []byte(f.Name), []byte(f.Value), false)
	}
	return block
}

// proceed is the interim answer for a client that waits before it sends a body.
var proceed = render(Field{":status", "100"})

// New returns a connection that allows so many streams at once, and requests in all (0: any number).
// Out has its first bytes.
func New(streams, requests int) *Conn {
	c := &Conn{limit: streams, left: requests, dec: hpack.NewDecoder(4096, maxHead), streams: map[uint32]*stream{}}
	c.emit = c.field
	c.initial, c.frame = wire.FirstWindow, wire.LeastFrame
	c.window, c.credit = wire.FirstWindow, ourWindow
	c.out = wire.AppendHeader(nil, 3*wire.SettingLength, wire.Settings, 0, 0)
	c.out = wire.AppendSetting(c.out, wire.SettingStreams, uint32(streams))
	c.out = wire.AppendSetting(c.out, wire.SettingWindow, ourWindow)
	c.out = wire.AppendSetting(c.out, wire.SettingHeaders, maxHead)
	c.out = wire.AppendNumber(c.out, wire.Window, 0, ourWindow-wire.FirstWindow)
	return c
}

// Keep keeps the paths of requests, and up to limit bytes of their bodies, for Kept.
func (c *Conn) Keep(limit int) { c.keep = limit }

// Follow reports requests while they come, keeps these fields of their heads, and their bodies, for Kept. Any request
// may then be answered before its end.
func (c *Conn) Follow(fields ...string) { c.keep, c.follow = math.MaxInt, fields }

// Kept gives what was kept of a request, once: of a whole one, or with Follow of the part that came since the last call.
// long: its body is longer. Of a stream that is over it has nothing.
func (c *Conn) Kept(id uint32) (path string, body []byte, long bool) {
	s := c.streams[id]
	if s == nil {
		return "", nil, false
	}
	body, s.kept = s.kept, nil
	return s.path, body, s.got > int64(c.keep)
}

// Fields are the values of the fields that Follow names, in that order; nil: the stream is over.
func (c *Conn) Fields(id uint32) []string {
	if s := c.streams[id]; s != nil {
		return s.fields
	}
	return nil
}

// Mark leaves v with a stream as long as that lives. It reports false if the stream is over.
func (c *Conn) Mark(id uint32, v any) bool {
	s := c.streams[id]
	if s != nil {
		s.mark = v
	}
	return s != nil
}

// Marked is what Mark left with a stream; nil: nothing, or the stream is over.
func (c *Conn) Marked(id uint32) any {
	if s := c.streams[id]; s != nil {
		return s.mark
	}
	return nil
}

// Open is the number of streams that are not over.
func (c *Conn) Open() int { return len(c.streams) }

// asked is a request that may be answered; nil: it is over, or not whole.
func (c *Conn) asked(id uint32) *stream {
	if s := c.streams[id]; s != nil && (s.whole || len(c.follow) > 0) {
		return s
	}
	return nil
}

// Answer answers a request, as far as the client's windows allow; Out has the rest when they open.
// An answer to a stream that is over is left out.
func (c *Conn) Answer(id uint32, a *Answer) {
	s := c.asked(id)
	if s == nil {
		return
	}
	s.body = a.body
	if s.head {
		s.body = nil
	}
	if len(s.body) == 0 {
		c.appendBlock(id, a.block, wire.FlagEndStream)
		c.answered(s)
		return
	}
	c.appendBlock(id, a.block, 0)
	c.enqueue(s)
}

// Begin begins an answer whose body Append adds. It reports false if the stream is over: the client reset it.
func (c *Conn) Begin(id uint32, a *Answer) bool {
	s := c.asked(id)
	if s == nil {
		return false
	}
	s.open = true
	c.appendBlock(id, a.block, 0)
	return true
}

// Append adds b to the body of an answer; last: the answer ends with it, which must not be empty. It reports false if
// the stream is over.
func (c *Conn) Append(id uint32, b []byte, last bool) bool {
	s := c.streams[id]
	if s == nil || !s.open {
		return false
	}
	s.body = append(s.body, b...)
	s.open = !last
	if len(s.body) > 0 {
		c.enqueue(s)
	}
	return true
}

// End ends an answer that Begin began with trailers, after what Append added. It reports false if the stream is over,
// or its answer has not begun.
func (c *Conn) End(id uint32, trailers *Answer) bool {
	s := c.streams[id]
	if s == nil || !s.open {
		return false
	}
	s.open, s.ending = false, trailers.block
	if len(s.body) == 0 {
		c.close(s)
	}
	return true
}

// close sends the trailers of s, whose body is sent.
func (c *Conn) close(s *stream) {
	c.appendBlock(s.id, s.ending, wire.FlagEndStream)
	c.answered(s)
}

// answered forgets s, whose answer has ended. A client that is still sending hears that nobody reads on.
func (c *Conn) answered(s *stream) {
	if !s.whole {
		c.reset(s.id, wire.NoError)
	}
	c.forget(s)
}

// Unsent is how much of the answer on a stream the client's windows do not allow yet.
func (c *Conn) Unsent(id uint32) int {
	if s := c.streams[id]; s != nil {
		return len(s.body)
	}
	return 0
}

// appendBlock appends a head. The first one says that no block of ours uses a dynamic table, so
// the size that the client allows for it never matters.
func (c *Conn) appendBlock(id uint32, block []byte, flags byte) {
	c.compact()
	from := len(c.out)
	c.out = wire.AppendHeader(c.out, 0, wire.Headers, flags|wire.FlagEndHeaders, id)
	if !c.told {
		c.told = true
		c.out = append(c.out, 0x20) // RFC 7541, 6.3
	}
	c.out = append(c.out, block...)
	wire.SetLength(c.out[from:])
}

func (c *Conn) enqueue(s *stream) {
	if !s.queued {
		s.queued = true
		c.sending = append(c.sending, s.id)
	}
}

// Reset resets a stream.
func (c *Conn) Reset(id uint32, code wire.Code) {
	if s := c.streams[id]; s != nil {
		c.reset(id, code)
		c.forget(s)
	}
}

func (c *Conn) reset(id uint32, code wire.Code) {
	c.out = wire.AppendNumber(c.out, wire.Reset, id, uint32(code))
}

// lose ends s, whose client hears nothing more: it reset the stream, or broke the protocol.
func (c *Conn) lose(s *stream) {
	if len(c.follow) > 0 {
		c.list = append(c.list, Event{Stream: s.id, Kind: Gone, Mark: s.mark})
	}
	c.forget(s)
}

// fail resets s, because its client broke the protocol.
func (c *Conn) fail(s *stream, code wire.Code) {
	c.reset(s.id, code)
	c.lose(s)
}

// forget ends s.
func (c *Conn) forget(s *stream) {
	delete(c.streams, s.id)
	*s = stream{}
	c.spare = append(c.spare, s)
}

// Close says that no other stream is accepted. Those that are open go on.
func (c *Conn) Close(code wire.Code) {
	if !c.closing || code != wire.NoError {
		c.closing = true
		c.out = wire.AppendGoAway(c.out, c.last, code)
	}
}

// Over reports whether the connection has ended: it accepts no other stream, and all is sent.
func (c *Conn) Over() bool { return c.closing && len(c.streams) == 0 && c.sent == len(c.out) }

// Out returns bytes to send, until there are none. They stay valid until the next call.
func (c *Conn) Out() []byte {
	c.compact()
	c.pump()
	return c.out[c.sent:]
}

// Sent says that the first n bytes of Out are sent.
func (c *Conn) Sent(n int) { c.sent += n }

// More reports whether Out would add something now.
func (c *Conn) More() bool { return len(c.sending) > 0 && c.window > 0 }

// Waiting is the number of bytes that wait to be sent, without what Out would add.
func (c *Conn) Waiting() int { return len(c.out) - c.sent }

// compact removes what is sent.
func (c *Conn) compact() { c.out, c.sent = wire.Compact(c.out, c.sent) }

// pump appends DATA of the answers' bodies, in turn, as far as the windows allow.
func (c *Conn) pump() {
	for len(c.sending) > 0 && c.window > 0 && c.Waiting() < wire.OutFull {
		s := c.streams[c.sending[0]]
		c.sending = c.sending[:copy(c.sending, c.sending[1:])]
		if s == nil {
			continue // the client reset it
		}
		s.queued = false
		if n := int(min(int64(len(s.body)), s.window, c.window, int64(c.frame))); n > 0 {
			c.send(s, n)
		} // otherwise a WINDOW_UPDATE brings it back
	}
}

// send appends the next n bytes of the body of s.
func (c *Conn) send(s *stream, n int) {
	var flags byte
	if n == len(s.body) && !s.open && s.ending == nil {
		flags = wire.FlagEndStream
	}
	c.out = append(wire.AppendHeader(c.out, n, wire.Data, flags, s.id), s.body[:n]...)
	s.body = s.body[n:]
	s.window -= int64(n)
	c.window -= int64(n)
	switch {
	case len(s.body) > 0:
		c.enqueue(s)
	case s.ending != nil:
		c.close(s)
	case !s.open:
		c.answered(s)
	}
}

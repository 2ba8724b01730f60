package serve

import (
	"bytes"
	"errors"

	"github.com/taktload/takt/internal/hpack"
	"github.com/taktload/takt/internal/http2/wire"
)

// head is what a header block says.
type head struct {
	length   int64 // -1: not given
	method   bool
	scheme   bool
	path     bool
	isHead   bool // the method is HEAD
	expect   bool // the client waits for 100 Continue
	after    bool // a field that is no pseudo-header came
	pseudo   bool // a pseudo-header came
	tampered bool // against RFC 9113, 8.3
	where    string
	fields   []string // with Follow
}

// onHeaders begins a header block.
func (c *Conn) onHeaders(h wire.Header, b []byte) wire.Code {
	if h.Stream&1 == 0 {
		return wire.ProtocolError
	}
	block, whole, code := c.reading.BeginBlock(h, b)
	if code != wire.NoError || !whole {
		return code
	}
	return c.onBlock(h.Stream, block)
}

func (c *Conn) onContinuation(h wire.Header, b []byte) wire.Code {
	block, whole, code := c.reading.JoinBlock(h, b, maxHead)
	if code != wire.NoError || !whole {
		return code
	}
	return c.onBlock(h.Stream, block)
}

// onBlock decodes a header block, also of a stream that is over: the table depends on all blocks.
// Trailers of such a stream may be under way, so they are ignored. The server does not remember why
// a stream is over, and so it also ignores those that RFC 9113, 5.1, calls an error.
func (c *Conn) onBlock(id uint32, b []byte) wire.Code {
	c.head = head{length: -1}
	if len(c.follow) > 0 {
		c.head.fields = make([]string, len(c.follow))
	}
	if err := c.dec.Decode(b, c.emit); errors.Is(err, hpack.ErrTooLarge) {
		return wire.EnhanceYourCalm
	} else if err != nil {
		return wire.CompressionError
	}
	switch s := c.streams[id]; {
	case s != nil:
		c.onTrailers(s)
	case id > c.last && !c.closing:
		c.begin(id)
	case id > c.last && id > c.late:
		c.late = id
		c.list = append(c.list, Event{Stream: id, Kind: Refused})
	case id <= c.last && !c.reading.Ends: // trailers end their stream: this is a request with an old id
		return wire.ProtocolError
	}
	return wire.NoError
}

func (c *Conn) onTrailers(s *stream) {
	switch {
	case s.whole:
		c.fail(s, wire.StreamClosed)
	case c.head.pseudo || c.head.tampered || !c.reading.Ends:
		c.malformed(s.id)
	default:
		c.complete(s)
	}
}

// begin opens a stream.
func (c *Conn) begin(id uint32) {
	c.last = id
	if len(c.streams) >= c.limit {
		c.reset(id, wire.RefusedStream)
		c.list = append(c.list, Event{Stream: id, Kind: Refused})
		return
	}
	h := &c.head
	if h.tampered || !h.method || !h.scheme || !h.path {
		c.malformed(id)
		return
	}
	if c.left--; c.left == 0 {
		c.Close(wire.NoError)
	}
	s := c.unused()
	*s = stream{id: id, head: h.isHead, window: c.initial, credit: ourWindow, length: h.length, path: h.where, fields: h.fields}
	c.streams[id] = s
	if len(c.follow) > 0 {
		c.list = append(c.list, Event{Stream: id, Kind: Opened})
	}
	if c.reading.Ends {
		c.complete(s)
	} else if h.expect {
		c.appendBlock(id, proceed, 0)
	}
}

func (c *Conn) unused() *stream {
	n := len(c.spare)
	if n == 0 {
		return new(stream)
	}
	s := c.spare[n-1]
	c.spare = c.spare[:n-1]
	return s
}

// malformed resets a stream whose request is wrong.
func (c *Conn) malformed(id uint32) {
	c.reset(id, wire.ProtocolError)
	if s := c.streams[id]; s != nil {
		c.lose(s)
	}
	c.list = append(c.list, Event{Stream: id, Kind: Malformed})
}

// complete is the end of a request.
func (c *Conn) complete(s *stream) {
	if s.length >= 0 && s.got != s.length {
		c.malformed(s.id)
		return
	}
	s.whole = true
	c.list = append(c.list, Event{Stream: s.id, Kind: Arrived, Head: s.head})
}

// field takes a field of the block that is being decoded. What the server does not need it does
// not look at.
func (c *Conn) field(name, value []byte) {
	h := &c.head
	for i, followed := range c.follow {
		if string(name) == followed {
			h.fields[i] = string(value)
		}
	}
	if len(name) > 0 && name[0] == ':' {
		if c.keep > 0 && string(name) == ":path" {
			h.where = string(value)
		}
		h.tampered = h.tampered || h.after || !h.takes(name, value)
		h.pseudo = true
		return
	}
	h.after = true
	for _, b := range name {
		if b-'A' < 26 {
			h.tampered = true
		}
	}
	switch string(name) {
	case "content-length":
		n, ok := number(value)
		h.tampered = h.tampered || !ok || h.length >= 0 && h.length != n
		h.length = n
	case "expect":
		h.expect = bytes.EqualFold(value, []byte("100-continue"))
	default:
		h.tampered = h.tampered || wire.OfConnection(name, value)
	}
}

// takes notes a pseudo-header, each of which comes once.
func (h *head) takes(name, value []byte) bool {
	var came *bool
	switch string(name) {
	case ":method":
		came = &h.method
		h.isHead = string(value) == "HEAD"
	case ":scheme":
		came = &h.scheme
	case ":path":
		came = &h.path
	case ":authority":
		return true
	default:
		return false
	}
	twice := *came
	*came = true
	return !twice && len(value) > 0
}

// number reads a length. 18 digits are far below overflow.
func number(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// beginData begins a DATA frame. pad is the length of its padding, if there is any.
func (c *Conn) beginData(h wire.Header, pad []byte) wire.Code {
	if c.idle(h.Stream) {
		return wire.ProtocolError
	}
	if code := c.reading.BeginData(h, pad); code != wire.NoError {
		return code
	}
	if c.credit -= int64(h.Length); c.credit < 0 {
		return wire.FlowControlError
	}
	if c.credit < refillFrom {
		c.out = wire.AppendNumber(c.out, wire.Window, 0, uint32(ourWindow-c.credit))
		c.credit = ourWindow
	}
	c.accept(h)
	if !c.reading.InData() {
		c.endData()
	}
	return wire.NoError
}

// accept checks that the stream of a DATA frame may have it.
func (c *Conn) accept(h wire.Header) {
	s := c.streams[h.Stream]
	if s == nil {
		return // it is over: what was under way is ignored
	}
	switch s.credit -= int64(h.Length); {
	case s.whole:
		c.fail(s, wire.StreamClosed)
	case s.credit < 0:
		c.fail(s, wire.FlowControlError)
	}
}

// readData reads bytes of a DATA frame, and then its padding.
func (c *Conn) readData(in []byte) int {
	content, n := c.reading.TakeData(in)
	if s := c.streams[c.reading.Of.Stream]; s != nil {
		s.got += int64(len(content))
		s.kept = append(s.kept, content[:max(0, min(len(content), c.keep-len(s.kept)))]...)
		c.came(s)
	}
	if !c.reading.InData() {
		c.endData()
	}
	return n
}

// came reports bytes of a body, once for those that follow each other.
func (c *Conn) came(s *stream) {
	n := len(c.list)
	if len(c.follow) == 0 || n > 0 && c.list[n-1].Kind == Came && c.list[n-1].Stream == s.id {
		return
	}
	c.list = append(c.list, Event{Stream: s.id, Kind: Came})
}

// endData is the end of a DATA frame.
func (c *Conn) endData() {
	s := c.streams[c.reading.Of.Stream]
	switch {
	case s == nil:
	case c.reading.Of.Has(wire.FlagEndStream):
		c.complete(s)
	case s.credit < refillFrom:
		c.out = wire.AppendNumber(c.out, wire.Window, s.id, uint32(ourWindow-s.credit))
		s.credit = ourWindow
	}
}

package serve

import (
	"encoding/binary"

	"github.com/taktload/takt/internal/http2/wire"
)

// Parse reads in, which starts where the last call stopped. It returns how many bytes it used, and
// list with what it found appended. If the client broke the protocol, the code is not NoError, and
// Out has the last words of the connection.
func (c *Conn) Parse(in []byte, list []Event) (n int, _ []Event, code wire.Code) {
	c.list = list
	n, code = c.greeting(in)
	for code == wire.NoError && n < len(in) {
		var used int
		if c.reading.InData() {
			used = c.readData(in[n:])
		} else if used, code = c.next(in[n:]); used == 0 {
			break
		}
		n += used
	}
	if code != wire.NoError {
		c.Close(code)
	}
	list, c.list = c.list, nil
	return n, list, code
}

// greeting reads the client's preface.
func (c *Conn) greeting(in []byte) (n int, code wire.Code) {
	for n < len(in) && c.greeted < len(wire.Preface) {
		if in[n] != wire.Preface[c.greeted] {
			return n, wire.ProtocolError
		}
		c.greeted++
		n++
	}
	return n, wire.NoError
}

// next handles the next frame, of DATA only its beginning. It returns 0 if more bytes are needed.
func (c *Conn) next(in []byte) (n int, code wire.Code) {
	if len(in) < wire.HeaderLength {
		return 0, wire.NoError
	}
	h := wire.ReadHeader(in)
	need := h.Needs()
	if code = c.check(h); code != wire.NoError || len(in) < need {
		return 0, code
	}
	if h.Kind == wire.Data {
		return need, c.beginData(h, in[wire.HeaderLength:need])
	}
	return need, c.handle(h, in[wire.HeaderLength:need])
}

// check refuses frames by their header.
func (c *Conn) check(h wire.Header) wire.Code {
	switch {
	case !c.heard && (h.Kind != wire.Settings || h.Has(wire.FlagAck)):
		return wire.ProtocolError
	case h.Length > wire.LeastFrame:
		return wire.FrameSizeError
	case !c.reading.InSequence(h):
		return wire.ProtocolError
	}
	return wire.NoError
}

// handle handles a whole frame other than DATA.
func (c *Conn) handle(h wire.Header, b []byte) wire.Code {
	switch h.Kind {
	case wire.Headers:
		return c.onHeaders(h, b)
	case wire.Continuation:
		return c.onContinuation(h, b)
	case wire.Reset:
		return c.onReset(h, b)
	case wire.Settings:
		return c.onSettings(h, b)
	case wire.Push:
		return wire.ProtocolError
	case wire.Ping:
		return c.onPing(h, b)
	case wire.GoAway:
		return wants(h.Stream == 0, len(b) >= 8)
	case wire.Window:
		return c.onWindow(h, b)
	case wire.Priority:
		return wants(h.Stream != 0, len(b) == 5)
	}
	return wire.NoError // frames of unknown types are to be ignored (RFC 9113, 5.5)
}

// wants is the code of a frame whose stream or size may be wrong.
func wants(stream, size bool) wire.Code {
	switch {
	case !stream:
		return wire.ProtocolError
	case !size:
		return wire.FrameSizeError
	}
	return wire.NoError
}

// idle reports whether the client has not opened the stream. After GOAWAY that is not known: it
// may have opened others, which are ignored.
func (c *Conn) idle(id uint32) bool { return id&1 == 0 || id > c.last && !c.closing }

func (c *Conn) onReset(h wire.Header, b []byte) wire.Code {
	if code := wants(!c.idle(h.Stream), len(b) == 4); code != wire.NoError {
		return code
	}
	if s := c.streams[h.Stream]; s != nil {
		c.lose(s)
	}
	return wire.NoError
}

func (c *Conn) onPing(h wire.Header, b []byte) wire.Code {
	code := wants(h.Stream == 0, len(b) == 8)
	if code == wire.NoError && !h.Has(wire.FlagAck) {
		c.out = append(wire.AppendHeader(c.out, 8, wire.Ping, wire.FlagAck, 0), b...)
	}
	return code
}

func (c *Conn) onWindow(h wire.Header, b []byte) wire.Code {
	if code := wants(h.Stream == 0 || !c.idle(h.Stream), len(b) == 4); code != wire.NoError {
		return code
	}
	n := int64(binary.BigEndian.Uint32(b) & wire.MostWindow)
	if h.Stream == 0 {
		if c.window += n; n == 0 {
			return wire.ProtocolError
		} else if c.window > wire.MostWindow {
			return wire.FlowControlError
		}
		return wire.NoError
	}
	s := c.streams[h.Stream]
	if s == nil {
		return wire.NoError
	}
	switch s.window += n; {
	case n == 0:
		c.fail(s, wire.ProtocolError)
	case s.window > wire.MostWindow:
		c.fail(s, wire.FlowControlError)
	case len(s.body) > 0:
		c.enqueue(s)
	}
	return wire.NoError
}

func (c *Conn) onSettings(h wire.Header, b []byte) wire.Code {
	ack := h.Has(wire.FlagAck)
	code := wants(h.Stream == 0, len(b)%wire.SettingLength == 0 && !(ack && len(b) > 0))
	if code != wire.NoError || ack {
		return code
	}
	c.heard = true
	for ; len(b) > 0; b = b[wire.SettingLength:] {
		if code = c.set(binary.BigEndian.Uint16(b), binary.BigEndian.Uint32(b[2:])); code != wire.NoError {
			return code
		}
	}
	c.out = wire.AppendHeader(c.out, 0, wire.Settings, wire.FlagAck, 0)
	return wire.NoError
}

func (c *Conn) set(id uint16, v uint32) wire.Code {
	switch id {
	case wire.SettingPush:
		if v > 1 {
			return wire.ProtocolError
		}
	case wire.SettingWindow:
		return c.setWindow(v)
	case wire.SettingFrame:
		if v < wire.LeastFrame || v > wire.MostFrame {
			return wire.ProtocolError
		}
		c.frame = int(v)
	}
	return wire.NoError
}

// setWindow changes the windows of all streams, which may become negative (RFC 9113, 6.9.2).
func (c *Conn) setWindow(v uint32) wire.Code {
	if v > wire.MostWindow {
		return wire.FlowControlError
	}
	change := int64(v) - c.initial
	c.initial = int64(v)
	for _, s := range c.streams {
		if s.window += change; s.window > wire.MostWindow {
			return wire.FlowControlError
		}
		if s.window > 0 && len(s.body) > 0 {
			c.enqueue(s)
		}
	}
	return wire.NoError
}

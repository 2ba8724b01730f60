package http2

import (
	"encoding/binary"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/pkg/takt"
)

// Parse implements takt.Mux.
func (m *Mux) Parse(in []byte, eof bool, list []takt.MuxEvent) (n int, _ []takt.MuxEvent, alive bool) {
	m.list = list
	n, f := m.frames(in)
	switch {
	case f == nil && eof:
		f = m.ended
	case f == nil && len(m.out)-m.sent > outMost:
		f = errFlood
	}
	if f == errNotHTTP2 {
		m.words = in[:min(len(in), http1.SampleBytes)]
	}
	if f != nil {
		m.fail(f)
	}
	m.words = nil
	list, m.list = m.list, nil
	return n, list, f == nil
}

// fail ends all streams because of a fault of the connection.
func (m *Mux) fail(f *fault) {
	if f.code != wire.NoError {
		m.out = wire.AppendHeader(m.out, 8, wire.GoAway, 0, 0)
		m.out = binary.BigEndian.AppendUint32(append(m.out, 0, 0, 0, 0), uint32(f.code))
	}
	for i := range m.table {
		s := &m.table[i]
		switch {
		case s.id == 0:
		case f == m.ended && s.state != waiting:
			m.endFailed(s, m.torn)
		default:
			m.endFailed(s, f)
		}
	}
	m.closing = true
}

// frames reads whole frames, and DATA as it comes.
func (m *Mux) frames(in []byte) (n int, f *fault) {
	for f == nil && n < len(in) {
		var used int
		if m.reading.InData() {
			used = m.readData(in[n:])
		} else if used, f = m.next1(in[n:]); used == 0 {
			return n, f
		}
		n += used
	}
	return n, f
}

// next1 handles the next frame, of DATA only its beginning. It returns 0 if more bytes are needed.
func (m *Mux) next1(in []byte) (n int, f *fault) {
	if len(in) < wire.HeaderLength {
		return 0, m.greeting(in)
	}
	h := wire.ReadHeader(in)
	need := h.Needs()
	if f = m.check(h); f != nil || len(in) < need {
		return 0, f
	}
	if m.idle++; m.idle > idleMost {
		return 0, errFlood
	}
	if h.Kind == wire.Data {
		return need, m.beginData(h, in[wire.HeaderLength:need])
	}
	return need, m.frame(h, in[wire.HeaderLength:need])
}

// greeting refuses another protocol before a frame's header is complete: an error of HTTP/1.1 may
// be shorter, and would otherwise end as a timeout.
func (m *Mux) greeting(in []byte) *fault {
	if !m.peer.heard && len(in) >= 4 && string(in[:4]) == "HTTP" {
		return errNotHTTP2
	}
	return nil
}

// check refuses frames by their header.
func (m *Mux) check(h wire.Header) *fault {
	switch {
	case !m.peer.heard && (h.Kind != wire.Settings || h.Has(wire.FlagAck)):
		if h.Length == 'H'<<16|'T'<<8|'T' {
			return errNotHTTP2
		}
		return errNoSettings
	case h.Length > wire.LeastFrame:
		return errLongFrame
	case !m.reading.InSequence(h):
		return errSequence
	}
	return nil
}

// frame handles a whole frame other than DATA.
func (m *Mux) frame(h wire.Header, b []byte) *fault {
	switch h.Kind {
	case wire.Headers:
		return m.onHeaders(h, b)
	case wire.Continuation:
		return m.onContinuation(h, b)
	case wire.Reset:
		return m.onReset(h, b)
	case wire.Settings:
		return m.onSettings(h, b)
	case wire.Push:
		return errPush
	case wire.Ping:
		return m.onPing(h, b)
	case wire.GoAway:
		return m.onGoAway(h, b)
	case wire.Window:
		return m.onWindow(h, b)
	case wire.Priority:
		if h.Stream == 0 {
			return errStream
		} else if len(b) != 5 {
			return errShort
		}
	}
	return nil // frames of unknown types are to be ignored (RFC 9113, 5.5)
}

// opened reports whether a stream of ours had this id.
func (m *Mux) opened(id uint32) bool { return id&1 == 1 && id < m.next }

func (m *Mux) onReset(h wire.Header, b []byte) *fault {
	switch {
	case len(b) != 4:
		return errShort
	case !m.opened(h.Stream):
		return errIdle
	}
	s := m.at(h.Stream)
	if s == nil {
		return nil
	}
	c := wire.Code(binary.BigEndian.Uint32(b))
	if c == wire.RefusedStream && s.state == waiting {
		m.again(s, errRefused)
		return nil
	}
	m.endFailed(s, resetBy(c))
	return nil
}

// again says that the target has done nothing for s. If that happens too often, f is why s failed.
func (m *Mux) again(s *stream, f *fault) {
	m.idle = 0
	s.r.Class, s.r.Err = f.class, f
	m.list = append(m.list, takt.MuxEvent{Tag: s.tag, Kind: takt.MuxAgain})
	m.forget(s)
}

func (m *Mux) onPing(h wire.Header, b []byte) *fault {
	switch {
	case len(b) != 8:
		return errShort
	case h.Stream != 0:
		return errStream
	case !h.Has(wire.FlagAck):
		m.out = append(wire.AppendHeader(m.out, 8, wire.Ping, wire.FlagAck, 0), b...)
	}
	return nil
}

// onGoAway lets the streams that the peer has begun end, and gives back the others.
func (m *Mux) onGoAway(h wire.Header, b []byte) *fault {
	switch {
	case len(b) < 8:
		return errShort
	case h.Stream != 0:
		return errStream
	}
	m.closing = true
	away := errAway
	if c := wire.Code(binary.BigEndian.Uint32(b[4:])); c != wire.NoError {
		text := "connection closed by the server: " + c.String() + " (GOAWAY)"
		away = &fault{http1.ClassClosed, text, wire.NoError}
		m.ended, m.torn = away, &fault{http1.ClassTruncated, text, wire.NoError}
	}
	last := binary.BigEndian.Uint32(b) & wire.MostStream
	for i := range m.table {
		if s := &m.table[i]; s.id > last && s.state == waiting {
			m.again(s, away)
		}
	}
	return nil
}

func (m *Mux) onWindow(h wire.Header, b []byte) *fault {
	if len(b) != 4 {
		return errShort
	}
	n := int64(binary.BigEndian.Uint32(b) & wire.MostWindow)
	if h.Stream == 0 {
		if m.window += n; n == 0 {
			return errZero
		} else if m.window > wire.MostWindow {
			return errWindow
		}
		return nil
	}
	if !m.opened(h.Stream) {
		return errIdle
	}
	s := m.at(h.Stream)
	if s == nil {
		return nil
	}
	switch s.window += n; {
	case n == 0:
		m.refuse(s, errZeroHere)
	case s.window > wire.MostWindow:
		m.refuse(s, errOverHere)
	case len(s.body) > 0:
		m.enqueue(s)
	}
	return nil
}

func (m *Mux) onSettings(h wire.Header, b []byte) *fault {
	switch {
	case h.Stream != 0:
		return errStream
	case h.Has(wire.FlagAck) && len(b) > 0, len(b)%wire.SettingLength != 0:
		return errShort
	case h.Has(wire.FlagAck):
		return nil
	}
	if !m.peer.heard {
		m.peer.heard, m.peer.streams = true, wire.MostStream // no limit, unless it says one
	}
	for ; len(b) > 0; b = b[wire.SettingLength:] {
		if f := m.set(binary.BigEndian.Uint16(b), binary.BigEndian.Uint32(b[2:])); f != nil {
			return f
		}
	}
	m.out = wire.AppendHeader(m.out, 0, wire.Settings, wire.FlagAck, 0)
	return nil
}

func (m *Mux) set(id uint16, v uint32) *fault {
	switch id {
	case wire.SettingTable:
		m.enc.SetTableSize(v)
	case wire.SettingPush:
		if v != 0 { // RFC 9113, 6.5.2: a server must not send 1
			return errSetting
		}
	case wire.SettingStreams:
		m.peer.streams = int(min(v, wire.MostStream))
	case wire.SettingWindow:
		return m.setWindow(v)
	case wire.SettingFrame:
		if v < wire.LeastFrame || v > wire.MostFrame {
			return errSetting
		}
		m.peer.frame = int(v)
	}
	return nil
}

// setWindow changes the windows of all streams, which may become negative (RFC 9113, 6.9.2).
func (m *Mux) setWindow(v uint32) *fault {
	if v > wire.MostWindow {
		return errWindow
	}
	change := int64(v) - m.peer.window
	m.peer.window = int64(v)
	for i := range m.table {
		s := &m.table[i]
		if s.id == 0 {
			continue
		}
		if s.window += change; s.window > wire.MostWindow {
			return errWindow
		}
		if s.window > 0 && len(s.body) > 0 {
			m.enqueue(s)
		}
	}
	return nil
}

package http2

import (
	"encoding/binary"

	"github.com/taktload/takt/internal/http1"
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
	if f != nil {
		m.fail(f)
	}
	list, m.list = m.list, nil
	return n, list, f == nil
}

// fail ends all streams because of a fault of the connection.
func (m *Mux) fail(f *fault) {
	if f.code != noError {
		m.out = appendHeader(m.out, 8, frameGoAway, 0, 0)
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
		if m.reading.data+m.reading.pad > 0 {
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
	if len(in) < frameHeader {
		return 0, m.greeting(in)
	}
	h := readHeader(in)
	need := frameHeader + h.length
	if h.kind == frameData {
		need = frameHeader
		if h.has(flagPadded) && h.length > 0 {
			need++
		}
	}
	if f = m.check(h); f != nil || len(in) < need {
		return 0, f
	}
	if m.idle++; m.idle > idleMost {
		return 0, errFlood
	}
	if h.kind == frameData {
		return need, m.beginData(h, in[frameHeader:need])
	}
	return need, m.frame(h, in[frameHeader:need])
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
func (m *Mux) check(h header) *fault {
	switch {
	case !m.peer.heard && (h.kind != frameSettings || h.has(flagAck)):
		if h.length == 'H'<<16|'T'<<8|'T' {
			return errNotHTTP2
		}
		return errNoSettings
	case h.length > leastFrame:
		return errLongFrame
	case m.reading.until != 0 && (h.kind != frameContinuation || h.stream != m.reading.until),
		m.reading.until == 0 && h.kind == frameContinuation:
		return errSequence
	}
	return nil
}

// frame handles a whole frame other than DATA.
func (m *Mux) frame(h header, b []byte) *fault {
	switch h.kind {
	case frameHeaders:
		return m.onHeaders(h, b)
	case frameContinuation:
		return m.onContinuation(h, b)
	case frameReset:
		return m.onReset(h, b)
	case frameSettings:
		return m.onSettings(h, b)
	case framePush:
		return errPush
	case framePing:
		return m.onPing(h, b)
	case frameGoAway:
		return m.onGoAway(h, b)
	case frameWindow:
		return m.onWindow(h, b)
	case framePriority:
		if h.stream == 0 {
			return errStream
		} else if len(b) != 5 {
			return errShort
		}
	}
	return nil // frames of unknown types are to be ignored (RFC 9113, 5.5)
}

// opened reports whether a stream of ours had this id.
func (m *Mux) opened(id uint32) bool { return id&1 == 1 && id < m.next }

func (m *Mux) onReset(h header, b []byte) *fault {
	switch {
	case len(b) != 4:
		return errShort
	case !m.opened(h.stream):
		return errIdle
	}
	s := m.at(h.stream)
	if s == nil {
		return nil
	}
	c := code(binary.BigEndian.Uint32(b))
	if c == refusedStream && s.state == waiting {
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

func (m *Mux) onPing(h header, b []byte) *fault {
	switch {
	case len(b) != 8:
		return errShort
	case h.stream != 0:
		return errStream
	case !h.has(flagAck):
		m.out = append(appendHeader(m.out, 8, framePing, flagAck, 0), b...)
	}
	return nil
}

// onGoAway lets the streams that the peer has begun end, and gives back the others.
func (m *Mux) onGoAway(h header, b []byte) *fault {
	switch {
	case len(b) < 8:
		return errShort
	case h.stream != 0:
		return errStream
	}
	m.closing = true
	away := errAway
	if c := code(binary.BigEndian.Uint32(b[4:])); c != noError {
		text := "connection closed by the server: " + c.String() + " (GOAWAY)"
		away = &fault{http1.ClassClosed, text, noError}
		m.ended, m.torn = away, &fault{http1.ClassTruncated, text, noError}
	}
	last := binary.BigEndian.Uint32(b) & mostStream
	for i := range m.table {
		if s := &m.table[i]; s.id > last && s.state == waiting {
			m.again(s, away)
		}
	}
	return nil
}

func (m *Mux) onWindow(h header, b []byte) *fault {
	if len(b) != 4 {
		return errShort
	}
	n := int64(binary.BigEndian.Uint32(b) & mostWindow)
	if h.stream == 0 {
		if m.window += n; n == 0 {
			return errZero
		} else if m.window > mostWindow {
			return errWindow
		}
		return nil
	}
	if !m.opened(h.stream) {
		return errIdle
	}
	s := m.at(h.stream)
	if s == nil {
		return nil
	}
	switch s.window += n; {
	case n == 0:
		m.refuse(s, errZeroHere)
	case s.window > mostWindow:
		m.refuse(s, errOverHere)
	case len(s.body) > 0:
		m.enqueue(s)
	}
	return nil
}

func (m *Mux) onSettings(h header, b []byte) *fault {
	switch {
	case h.stream != 0:
		return errStream
	case h.has(flagAck) && len(b) > 0, len(b)%settingLength != 0:
		return errShort
	case h.has(flagAck):
		return nil
	}
	if !m.peer.heard {
		m.peer.heard, m.peer.streams = true, mostStream // no limit, unless it says one
	}
	for ; len(b) > 0; b = b[settingLength:] {
		if f := m.set(binary.BigEndian.Uint16(b), binary.BigEndian.Uint32(b[2:])); f != nil {
			return f
		}
	}
	m.out = appendHeader(m.out, 0, frameSettings, flagAck, 0)
	return nil
}

func (m *Mux) set(id uint16, v uint32) *fault {
	switch id {
	case settingTable:
		m.enc.SetTableSize(v)
	case settingPush:
		if v != 0 { // RFC 9113, 6.5.2: a server must not send 1
			return errSetting
		}
	case settingStreams:
		m.peer.streams = int(min(v, mostStream))
	case settingWindow:
		return m.setWindow(v)
	case settingFrame:
		if v < leastFrame || v > mostFrame {
			return errSetting
		}
		m.peer.frame = int(v)
	}
	return nil
}

// setWindow changes the windows of all streams, which may become negative (RFC 9113, 6.9.2).
func (m *Mux) setWindow(v uint32) *fault {
	if v > mostWindow {
		return errWindow
	}
	change := int64(v) - m.peer.window
	m.peer.window = int64(v)
	for i := range m.table {
		s := &m.table[i]
		if s.id == 0 {
			continue
		}
		if s.window += change; s.window > mostWindow {
			return errWindow
		}
		if s.window > 0 && len(s.body) > 0 {
			m.enqueue(s)
		}
	}
	return nil
}

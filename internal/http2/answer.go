package http2

import (
	"github.com/taktload/takt/internal/hpack"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/pkg/takt"
)

// head is what a header block says about an answer.
type head struct {
	status int
	length int64  // -1: not given
	coding string // content-encoding, as http1.JoinCodings has it
	kind   string // content-type, for a Watcher
	fields int
	after  bool // a field that is no pseudo-header came
	begins bool // the block begins the answer to a stream, and is no trailer
	of     *stream
	fault  *fault
}

// onHeaders begins a header block.
func (m *Mux) onHeaders(h wire.Header, b []byte) *fault {
	if !m.opened(h.Stream) {
		return errIdle
	}
	block, whole, c := m.reading.BeginBlock(h, b)
	if c != wire.NoError {
		return misframed(c)
	}
	if !whole {
		return nil
	}
	return m.onBlock(h.Stream, block)
}

func (m *Mux) onContinuation(h wire.Header, b []byte) *fault {
	block, whole, c := m.reading.JoinBlock(h, b, m.opt.MaxHead)
	if c != wire.NoError {
		return errLongHead
	}
	if !whole {
		return nil
	}
	return m.onBlock(h.Stream, block)
}

// onBlock decodes a header block, also of a stream that is over: the table depends on all blocks.
func (m *Mux) onBlock(id uint32, b []byte) *fault {
	s := m.at(id)
	m.head = head{length: -1, begins: s != nil && s.state != inBody, of: s}
	if err := m.dec.Decode(b, m.emit); err == hpack.ErrTooLarge {
		return errLongHead
	} else if err != nil {
		return errBlock
	}
	if s == nil {
		return nil
	}
	n := wire.HeaderLength + len(b)
	s.r.BytesReceived += int64(n)
	if s.heads += n; s.heads > m.opt.MaxHead && m.head.fault == nil {
		m.head.fault = errHead
	}
	if s.state == waiting {
		s.state = begun
		m.list = append(m.list, takt.MuxEvent{Tag: s.tag, Kind: takt.MuxFirst})
	}
	if f := m.onHead(s); f != nil {
		m.refuse(s, f)
	}
	return nil
}

// onHead handles the head that was just decoded: interim, final, or trailers.
func (m *Mux) onHead(s *stream) *fault {
	h := &m.head
	switch {
	case h.fault != nil:
		return h.fault
	case s.state == inBody:
		if h.status != 0 || !m.reading.Ends {
			return errTrailer
		}
		return m.end(s)
	case h.status == 0:
		return errPseudo
	case h.status == 101:
		return errSwitched
	case h.status < 200 && m.reading.Ends:
		return errInterim
	case h.status < 200:
		return nil
	}
	m.idle = 0
	s.state, s.length, s.coding = inBody, h.length, h.coding
	s.r.Status = h.status
	s.r.Body = s.r.Body[:0]
	if m.opt.Fail != nil {
		s.class = m.opt.Fail(h.status)
	}
	s.quiet = s.quiet || h.status == 204 || h.status == 304
	if !s.quiet && h.length > m.opt.MaxBody {
		return errBody
	}
	if m.watcher != nil && s.class == "" {
		m.watcher.Head(s.tag, h.kind, h.coding)
	}
	if m.reading.Ends {
		return m.end(s)
	}
	return nil
}

// field takes a field of the block that is being decoded. The first fault counts.
func (m *Mux) field(name, value []byte) {
	h := &m.head
	if h.fields++; h.fault != nil {
		return
	}
	switch {
	case h.fields > m.opt.MaxFields:
		h.fault = errFields
	case len(name) > 0 && name[0] == ':':
		h.pseudo(name, value)
	case !http1.IsName(name):
		h.fault = errName
	case !http1.IsValue(value):
		h.fault = errValue
	default:
		if h.after = true; m.opt.Field != nil && h.begins && h.status >= 200 {
			m.opt.Field(name, value)
		}
		h.note(name, value)
		if m.watcher != nil {
			m.show(name, value)
		}
	}
}

// show shows a field to the watcher.
func (m *Mux) show(name, value []byte) {
	h := &m.head
	if string(name) == "content-type" {
		if m.kind != string(value) {
			m.kind = string(value)
		}
		h.kind = m.kind
	}
	if m.fields != nil && h.of != nil && (h.status >= 200 || !h.begins) {
		m.fields.Field(h.of.tag, name, value, m.reading.Ends)
	}
}

// pseudo takes the only pseudo-header of an answer, which comes first.
func (h *head) pseudo(name, value []byte) {
	n, ok := http1.Decimal(value)
	if h.after || h.status != 0 || string(name) != ":status" || !ok || len(value) != 3 || n < 100 {
		h.fault = errPseudo
		return
	}
	h.status = int(n)
}

func (h *head) note(name, value []byte) {
	switch {
	case len(name) == len("content-length") && string(name) == "content-length":
		n, ok := http1.Decimal(value)
		if !ok || h.length >= 0 && h.length != n {
			h.fault = errLength
			return
		}
		h.length = n
	case string(name) == "content-encoding":
		h.coding = http1.JoinCodings(h.coding, value)
	case wire.OfConnection(name, value):
		h.fault = errHop
	}
}

// beginData begins a DATA frame. pad is the length of its padding, if there is any.
func (m *Mux) beginData(h wire.Header, pad []byte) *fault {
	if !m.opened(h.Stream) {
		return errIdle
	}
	if c := m.reading.BeginData(h, pad); c != wire.NoError {
		return misframed(c)
	}
	if m.credit -= int64(h.Length); m.credit < 0 {
		return errOverrun
	}
	m.refill()
	if s := m.at(h.Stream); s != nil {
		s.r.BytesReceived += int64(wire.HeaderLength + h.Length)
		if s.credit -= int64(h.Length); s.credit < 0 {
			m.refuse(s, errOverrun)
		} else if s.state != inBody {
			m.refuse(s, errNoHead)
		}
	}
	if !m.reading.InData() {
		m.endData()
	}
	return nil
}

// refill lets the peer send on. All bytes count as taken at once, since none are kept.
func (m *Mux) refill() {
	if m.credit < refillFrom {
		m.out = wire.AppendNumber(m.out, wire.Window, 0, uint32(ourWindow-m.credit))
		m.credit = ourWindow
	}
}

// readData reads bytes of a DATA frame, and then its padding.
func (m *Mux) readData(in []byte) int {
	content, n := m.reading.TakeData(in)
	if len(content) > 0 {
		m.idle = 0
		if s := m.at(m.reading.Of.Stream); s != nil {
			m.take(s, content)
		}
	}
	if !m.reading.InData() {
		m.endData()
	}
	return n
}

// take takes bytes of the body of s.
func (m *Mux) take(s *stream, b []byte) {
	m.opt.Keep(s.class, b, s.r, &s.kept)
	switch s.got += int64(len(b)); {
	case s.quiet:
		m.refuse(s, errQuiet)
	case s.got > m.opt.MaxBody:
		m.refuse(s, errBody)
	case s.length >= 0 && s.got > s.length:
		m.refuse(s, errAmount)
	default:
		m.watch(s, b, false)
	}
}

// watch shows the bytes of a good answer to whoever watches.
func (m *Mux) watch(s *stream, b []byte, ends bool) {
	if m.watcher == nil || s.class != "" {
		return
	}
	if err := m.watcher.Body(s.tag, b, ends); err != nil {
		f := &fault{http1.ClassTooLarge, err.Error(), wire.Cancel}
		if own, ok := err.(interface{ Class() string }); ok {
			f.class = own.Class()
		}
		m.refuse(s, f)
	}
}

// endData is the end of a DATA frame.
func (m *Mux) endData() {
	s := m.at(m.reading.Of.Stream)
	switch {
	case s == nil:
	case m.reading.Of.Has(wire.FlagEndStream):
		if f := m.end(s); f != nil {
			m.refuse(s, f)
		}
	default:
		if s.credit < refillFrom {
			m.out = wire.AppendNumber(m.out, wire.Window, s.id, uint32(ourWindow-s.credit))
			s.credit = ourWindow
		}
		m.watch(s, nil, true)
	}
}

// end ends s, whose answer is complete.
func (m *Mux) end(s *stream) *fault {
	if s.length >= 0 && s.got != s.length && !s.quiet {
		return errAmount
	}
	if len(s.body) > 0 { // the target answered before it read the whole request
		m.early++
		m.reset(s.id, wire.Cancel)
	}
	m.opt.Judge(s.class, s.r, &s.kept, s.coding)
	m.over(s)
	return nil
}

// refuse ends s because of a fault in its answer.
func (m *Mux) refuse(s *stream, f *fault) {
	m.reset(s.id, f.code)
	m.endFailed(s, f)
}

func (m *Mux) endFailed(s *stream, f *fault) {
	s.r.Class, s.r.Err = f.class, f
	s.r.Body = append(s.r.Body, m.words...)
	m.over(s)
}

func (m *Mux) over(s *stream) {
	m.idle = 0
	m.list = append(m.list, takt.MuxEvent{Tag: s.tag, Kind: takt.MuxEnd})
	if m.watcher != nil {
		m.watcher.End(s.tag, s.r.Class == "")
	}
	m.forget(s)
}

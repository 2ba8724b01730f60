package amqp

import (
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
)

// message is an encoded message (part 3, section 3.2).
type message struct {
	b                                []byte
	walked                           bool
	bad                              bool
	header, annotations, application wire.Value
	body                             wire.Value
	joined                           []byte // body of several data sections, joined
}

// walk finds the sections on the first call.
func (m *message) walk() {
	if m.walked {
		return
	}
	m.walked = true
	d := wire.Decoder{B: m.b}
	for len(d.B) > 0 {
		m.section(d.Described())
	}
	m.bad = d.Bad
}

func (m *message) section(is uint64, v wire.Value) {
	switch is {
	case wire.IsHeader:
		m.header = v
	case wire.IsAnnotations:
		m.annotations = v
	case wire.IsApplication:
		m.application = v
	case wire.IsData:
		m.data(v)
	case wire.IsValue, wire.IsSequence:
		m.body = v
	}
}

// data handles a data section; a message may have several (section 3.2.6).
func (m *message) data(v wire.Value) {
	if m.body.Null() {
		m.body = v
		return
	}
	if len(m.joined) == 0 {
		m.joined = append(m.joined, m.body.Raw...)
	}
	m.joined = append(m.joined, v.Raw...)
	m.body.Raw = m.joined
}

// Bad reports whether the message violates AMQP 1.0. The parts before the fault are
// available.
func (m *message) Bad() bool {
	m.walk()
	return m.bad
}

// Body is the body if it is binary data or text; otherwise nil.
func (m *message) Body() []byte {
	m.walk()
	b, _ := m.body.Bytes()
	return b
}

// Application returns an application property; null if there is none with this name.
func (m *message) Application(name string) wire.Value {
	m.walk()
	return m.application.Find(name)
}

// Annotation returns a message annotation; null if there is none with this name.
func (m *message) Annotation(name string) wire.Value {
	m.walk()
	return m.annotations.Find(name)
}

// Header is the handling of a message (section 3.2.1).
type Header struct {
	Durable    bool
	Priority   byte
	TTL        time.Duration
	Deliveries uint32 // number of earlier delivery attempts
}

// Header returns the header, or the defaults.
func (m *message) Header() Header {
	m.walk()
	l := m.header.List()
	h := Header{Durable: l.Bool(), Priority: byte(l.Uint(defaultPriority))}
	h.TTL = time.Duration(l.Uint(0)) * time.Millisecond
	l.Skip(1) // first acquirer
	h.Deliveries = l.Uint(0)
	return h
}

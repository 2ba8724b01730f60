package amqp

import "time"

// message is an encoded message (part 3, section 3.2).
type message struct {
	b      []byte
	walked bool
	bad    bool
	header, annotations, properties,
	application Value
	body   Value
	joined []byte // body of several data sections, joined
}

// walk finds the sections on the first call.
func (m *message) walk() {
	if m.walked {
		return
	}
	m.walked = true
	d := decoder{b: m.b}
	for len(d.b) > 0 {
		m.section(d.described())
	}
	m.bad = d.bad
}

func (m *message) section(is uint64, v Value) {
	switch is {
	case isHeader:
		m.header = v
	case isAnnotations:
		m.annotations = v
	case isProperties:
		m.properties = v
	case isApplication:
		m.application = v
	case isData:
		m.data(v)
	case isValue, isSequence:
		m.body = v
	}
}

// data handles a data section; a message may have several (section 3.2.6).
func (m *message) data(v Value) {
	if m.body.Null() {
		m.body = v
		return
	}
	if len(m.joined) == 0 {
		m.joined = append(m.joined, m.body.raw...)
	}
	m.joined = append(m.joined, v.raw...)
	m.body.raw = m.joined
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

// Size is the number of bytes of the whole message.
func (m *message) Size() int { return len(m.b) }

// Application returns an application property; null if there is none with this name.
func (m *message) Application(name string) Value {
	m.walk()
	return m.application.find(name)
}

// Annotation returns a message annotation; null if there is none with this name.
func (m *message) Annotation(name string) Value {
	m.walk()
	return m.annotations.find(name)
}

// find returns the value of a name in a map.
func (v Value) find(name string) Value {
	for l := v.list(); l.left > 1; {
		key, value := l.next(), l.next()
		if b, ok := key.Bytes(); ok && string(b) == name && !l.bad {
			return value
		}
	}
	return Value{}
}

// Property is one of the standard properties of a message (section 3.2.4).
type Property int

// The values of Property.
const (
	MessageID Property = iota
	UserID
	To
	Subject
	ReplyTo
	CorrelationID
	ContentType
	ContentEncoding
	AbsoluteExpiry
	CreationTime
	GroupID
	GroupSequence
	ReplyToGroup
)

// Property returns a standard property; null if it is absent.
func (m *message) Property(p Property) Value {
	m.walk()
	l := m.properties.list()
	l.skip(int(p))
	return l.next()
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
	l := m.header.list()
	h := Header{Durable: l.bool(), Priority: byte(l.uint(DefaultPriority))}
	h.TTL = time.Duration(l.uint(0)) * time.Millisecond
	l.skip(1) // first acquirer
	h.Deliveries = l.uint(0)
	return h
}

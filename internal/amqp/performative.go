package amqp

import "math"

// The performatives that are exchanged rarely (part 2, section 2.7), with the fields used
// here. Each can read what it appends: the tests' broker uses the same code.

type open struct {
	container, host string
	maxFrame        uint32 // largest frame in bytes
	channelMax      uint16
	idle            uint32 // idle timeout in ms; 0: none
	desired         []string
	offered         []string
	properties      map[string]string // only properties with text values
	refused         bool              // a close with the reason follows
}

// refusal is the property of an open that refuses the connection. Before the open part 2 has
// no other way to send a reason.
const refusal = "amqp:connection-establishment-failed"

func (o *open) append(b []byte) []byte {
	l := openList(b, isOpen)
	l.string(o.container)
	l.stringSet(o.host)
	l.uint(o.maxFrame)
	l.ushort(o.channelMax)
	l.uintSet(o.idle)
	l.skip(2) // locales
	l.symbolsSet(o.offered)
	l.symbolsSet(o.desired)
	if len(o.properties) > 0 {
		l.b = appendTexts(l.next(), o.properties)
	}
	return l.close()
}

func appendTexts(b []byte, texts map[string]string) []byte {
	m := openCompound(b, codeMap32)
	for k, v := range texts {
		m.symbol(k)
		m.string(v)
	}
	return m.close()
}

func (o *open) read(f *fields) {
	o.container, o.host = f.text(), f.text()
	o.maxFrame = f.uint(math.MaxUint32)
	o.channelMax = uint16(min(f.uint(math.MaxUint16), math.MaxUint16))
	o.idle = f.uint(0)
	f.skip(2)
	o.offered, o.desired = f.next().symbols(), f.next().symbols()
	o.properties = map[string]string{}
	for m := f.next().list(); m.left > 1; {
		name, value := m.next(), m.next()
		k, _ := name.Bytes()
		if v, ok := value.Bytes(); ok {
			o.properties[string(k)] = string(v)
		}
		o.refused = o.refused || string(k) == refusal
	}
}

type begin struct {
	remote             uint16
	answers            bool // remote is set
	nextOutgoing       uint32
	incoming, outgoing uint32 // windows, in transfers
	handleMax          uint32
}

func (p *begin) append(b []byte) []byte {
	l := openList(b, isBegin)
	if p.answers {
		l.ushort(p.remote)
	} else {
		l.skip(1)
	}
	l.uint(p.nextOutgoing)
	l.uint(p.incoming)
	l.uint(p.outgoing)
	l.uint(p.handleMax)
	return l.close()
}

func (p *begin) read(f *fields) {
	remote, ok := f.maybe(math.MaxUint16)
	p.remote, p.answers = uint16(remote), ok
	p.nextOutgoing, p.incoming, p.outgoing = f.must(), f.must(), f.must()
	p.handleMax = f.uint(math.MaxUint32)
}

type attach struct {
	name           string
	handle         uint32
	byReceiver     bool // the sender of the frame is the receiver
	settle         byte // settle mode of the sender: 0 unsettled, 1 settled, 2 mixed
	source, target *terminus
	first          uint32 // initial delivery-count of a sender
	max            uint64 // largest message in bytes; 0: no limit
}

func (a *attach) append(b []byte) []byte {
	l := openList(b, isAttach)
	l.string(a.name)
	l.uint(a.handle)
	l.b = appendBool(l.next(), a.byReceiver)
	l.ubyte(a.settle)
	l.ubyte(0) // the receiver settles first
	a.source.field(&l, isSource)
	a.target.field(&l, isTarget)
	l.skip(2) // unsettled, incomplete-unsettled: no delivery is resumed
	if a.byReceiver {
		l.skip(1)
	} else {
		l.uint(a.first)
	}
	if a.max > 0 {
		l.b = appendUlong(l.next(), a.max)
	}
	return l.close()
}

func (a *attach) read(f *fields) {
	a.name, a.handle, a.byReceiver = f.text(), f.must(), f.bool()
	a.settle = byte(f.uint(2))
	f.skip(1)
	a.source, a.target = readTerminus(f), readTerminus(f)
	f.skip(2)
	a.first = f.uint(0)
	a.max, _ = f.maybe(math.MaxUint64)
}

// detach, end and close end a link, a session or the connection, with err if an error is the
// reason.
type detach struct {
	handle uint32
	closed bool
	err    *Error
}

func (d *detach) append(b []byte) []byte {
	l := openList(b, isDetach)
	l.uint(d.handle)
	l.bool(d.closed)
	d.err.field(&l)
	return l.close()
}

func (d *detach) read(f *fields) {
	d.handle, d.closed, d.err = f.must(), f.bool(), readError(f.next())
}

type ending struct {
	is  uint64 // isEnd or isClose
	err *Error
}

func (e *ending) append(b []byte) []byte {
	l := openList(b, e.is)
	e.err.field(&l)
	return l.close()
}

package wire

import "math"

// The performatives that are exchanged rarely (part 2, section 2.7), with the fields used
// here.

// Open is the first performative of a connection.
type Open struct {
	Container, Host string
	MaxFrame        uint32 // largest frame in bytes
	ChannelMax      uint16
	Idle            uint32 // idle timeout in ms; 0: none
	Desired         []string
	Offered         []string
	Properties      map[string]string // only properties with text values
	Refused         bool              // a close with the reason follows
}

// Refusal is the property of an open that refuses the connection. Before the open part 2 has
// no other way to send a reason.
const Refusal = "amqp:connection-establishment-failed"

func (o *Open) Append(b []byte) []byte {
	l := OpenList(b, IsOpen)
	l.Text(o.Container)
	l.StringSet(o.Host)
	l.Uint(o.MaxFrame)
	l.ushort(o.ChannelMax)
	l.UintSet(o.Idle)
	l.Skip(2) // locales
	l.SymbolsSet(o.Offered)
	l.SymbolsSet(o.Desired)
	if len(o.Properties) > 0 {
		l.B = appendTexts(l.Next(), o.Properties)
	}
	return l.Close()
}

func appendTexts(b []byte, texts map[string]string) []byte {
	m := OpenCompound(b, CodeMap32)
	for k, v := range texts {
		m.Symbol(k)
		m.Text(v)
	}
	return m.Close()
}

func (o *Open) Read(f *Fields) {
	o.Container, o.Host = f.Text(), f.Text()
	o.MaxFrame = f.Uint(math.MaxUint32)
	o.ChannelMax = uint16(min(f.Uint(math.MaxUint16), math.MaxUint16))
	o.Idle = f.Uint(0)
	f.Skip(2)
	o.Offered, o.Desired = f.Next().Symbols(), f.Next().Symbols()
	o.Properties = map[string]string{}
	for m := f.Next().List(); m.left > 1; {
		name, value := m.Next(), m.Next()
		k, _ := name.Bytes()
		if v, ok := value.Bytes(); ok {
			o.Properties[string(k)] = string(v)
		}
		o.Refused = o.Refused || string(k) == Refusal
	}
}

// Begin begins a session.
type Begin struct {
	Remote             uint16
	Answers            bool // remote is set
	NextOutgoing       uint32
	Incoming, Outgoing uint32 // windows, in transfers
	HandleMax          uint32
}

func (p *Begin) Append(b []byte) []byte {
	l := OpenList(b, IsBegin)
	if p.Answers {
		l.ushort(p.Remote)
	} else {
		l.Skip(1)
	}
	l.Uint(p.NextOutgoing)
	l.Uint(p.Incoming)
	l.Uint(p.Outgoing)
	l.Uint(p.HandleMax)
	return l.Close()
}

func (p *Begin) Read(f *Fields) {
	remote, ok := f.Maybe(math.MaxUint16)
	p.Remote, p.Answers = uint16(remote), ok
	p.NextOutgoing, p.Incoming, p.Outgoing = f.Must(), f.Must(), f.Must()
	p.HandleMax = f.Uint(math.MaxUint32)
}

// Attach attaches a link.
type Attach struct {
	Name           string
	Handle         uint32
	ByReceiver     bool // the sender of the frame is the receiver
	Settle         byte // settle mode of the sender: 0 unsettled, 1 settled, 2 mixed
	Source, Target *Terminus
	First          uint32 // initial delivery-count of a sender
	Max            uint64 // largest message in bytes; 0: no limit
}

func (a *Attach) Append(b []byte) []byte {
	l := OpenList(b, IsAttach)
	l.Text(a.Name)
	l.Uint(a.Handle)
	l.B = AppendBool(l.Next(), a.ByReceiver)
	l.Ubyte(a.Settle)
	l.Ubyte(0) // the receiver settles first
	a.Source.Field(&l, isSource)
	a.Target.Field(&l, isTarget)
	l.Skip(2) // unsettled, incomplete-unsettled: no delivery is resumed
	if a.ByReceiver {
		l.Skip(1)
	} else {
		l.Uint(a.First)
	}
	if a.Max > 0 {
		l.B = appendUlong(l.Next(), a.Max)
	}
	return l.Close()
}

func (a *Attach) Read(f *Fields) {
	a.Name, a.Handle, a.ByReceiver = f.Text(), f.Must(), f.Bool()
	a.Settle = byte(f.Uint(2))
	f.Skip(1)
	a.Source, a.Target = readTerminus(f), readTerminus(f)
	f.Skip(2)
	a.First = f.Uint(0)
	a.Max, _ = f.Maybe(math.MaxUint64)
}

// detach, end and close end a link, a session or the connection, with err if an error is the
// reason.
type Detach struct {
	Handle uint32
	Closed bool
	Err    *Error
}

func (d *Detach) Append(b []byte) []byte {
	l := OpenList(b, IsDetach)
	l.Uint(d.Handle)
	l.Bool(d.Closed)
	d.Err.Field(&l)
	return l.Close()
}

func (d *Detach) Read(f *Fields) {
	d.Handle, d.Closed, d.Err = f.Must(), f.Bool(), ReadError(f.Next())
}

// Ending ends a session or the connection.
type Ending struct {
	Is  uint64 // IsEnd or IsClose
	Err *Error
}

func (e *Ending) Append(b []byte) []byte {
	l := OpenList(b, e.Is)
	e.Err.Field(&l)
	return l.Close()
}

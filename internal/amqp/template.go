package amqp

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Template is a message encoded once. Fields that differ from message to message are patched
// between calls of Send. It is not safe for concurrent use.
type Template struct {
	Created Slot // creation time if Message.Stamped: milliseconds since 1970
	Expiry  Slot // expiry time if Message.Expires: milliseconds since 1970

	b      []byte // all sections; of the body only constructor and length
	number int    // offset of the message id's digits; 0: not numbered
	longs  map[string]Slot
}

// Slot is the offset of eight bytes in a Template. The zero Slot is no place.
type Slot int

// numberDigits is the number of hexadecimal digits of a message id that are patched.
const numberDigits = 16

// NewTemplate encodes a message. It reports all faults.
func NewTemplate(m Message) (*Template, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	t := &Template{longs: map[string]Slot{}}
	t.header(&m)
	if len(m.Annotations) > 0 {
		t.fields(wire.IsAnnotations, wire.CodeSym32, m.Annotations)
	}
	t.properties(&m)
	if len(m.Application) > 0 {
		t.fields(wire.IsApplication, wire.CodeStr32, m.Application)
	}
	section, code := uint64(wire.IsData), byte(wire.CodeBin32)
	if m.Text {
		section, code = wire.IsValue, wire.CodeStr32
	}
	t.b = append(wire.AppendDescriptor(t.b, section), code, 0, 0, 0, 0)
	return t, nil
}

// header omits a header with default values: the standard's defaults are those of JMS.
func (t *Template) header(m *Message) {
	if !m.Durable && m.Priority == defaultPriority && m.TTL == 0 {
		return
	}
	l := wire.OpenList(t.b, wire.IsHeader)
	l.Bool(m.Durable)
	l.Ubyte(m.Priority)
	l.UintSet(uint32(m.TTL / time.Millisecond))
	t.b = l.Close()
}

func (t *Template) properties(m *Message) {
	l := wire.OpenList(t.b, wire.IsProperties)
	if m.Numbered {
		l.Text(m.MessageID + "0000000000000000")
		t.number = len(l.B) - numberDigits
	} else {
		l.StringSet(m.MessageID)
	}
	l.Skip(1) // user id
	l.StringSet(m.To)
	l.Skip(1) // subject
	l.StringSet(m.ReplyTo)
	l.Skip(1) // correlation id
	l.SymbolSet(m.ContentType)
	l.Skip(1) // content encoding
	t.Expiry = appendTime(&l, m.Expires)
	t.Created = appendTime(&l, m.Stamped)
	l.StringSet(m.GroupID)
	t.b = l.Close()
}

// appendTime appends a timestamp to be patched, or nothing.
func appendTime(l *wire.Compound, set bool) Slot {
	if !set {
		l.Skip(1)
		return 0
	}
	l.B = wire.AppendLong(l.Next(), wire.CodeTimestamp, 0)
	return Slot(len(l.B) - 8)
}

func (t *Template) fields(section uint64, nameCode byte, fields []Field) {
	m := wire.OpenCompound(wire.AppendDescriptor(t.b, section), wire.CodeMap32)
	for _, f := range fields {
		m.B = wire.AppendVar(m.Next(), nameCode, f.Name)
		m.B, _ = f.appendTo(m.Next())
		if _, ok := f.Value.(int64); ok && section == wire.IsApplication {
			t.longs[f.Name] = Slot(len(m.B) - 8)
		}
	}
	t.b = m.Close()
}

// Long returns the slot of an application property of type int64.
func (t *Template) Long(name string) (Slot, error) {
	s, ok := t.longs[name]
	if !ok {
		return 0, fmt.Errorf("the message has no property %q of type int64", name)
	}
	return s, nil
}

// Set patches a slot. It ignores the zero Slot.
func (t *Template) Set(s Slot, v int64) {
	if s != 0 {
		binary.BigEndian.PutUint64(t.b[s:], uint64(v))
	}
}

// Number patches the number of a message id, 16 hexadecimal digits, if the message is
// Numbered.
func (t *Template) Number(n uint64) {
	if t.number == 0 {
		return
	}
	const digits = "0123456789abcdef"
	for i := t.number + numberDigits - 1; i >= t.number; i-- {
		t.b[i] = digits[n&0xf]
		n >>= 4
	}
}

// prefix is the message up to a body of this size.
func (t *Template) prefix(body int) []byte {
	binary.BigEndian.PutUint32(t.b[len(t.b)-4:], uint32(min(body, math.MaxInt32)))
	return t.b
}

package post

import (
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is a message of protocol buffers, written field by field.
type Message []byte

// Field is the number of a field.
type Field = protowire.Number

// Text adds a field of type string. Receivers refuse a message with a text that is not UTF-8.
func (m *Message) Text(field Field, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), strings.ToValidUTF8(s, "\uFFFD"))
}

// Varint adds a field of type uint32, uint64, int64 or enum.
func (m *Message) Varint(field Field, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
}

// Zigzag adds a field of type sint32 or sint64.
func (m *Message) Zigzag(field Field, v int64) { m.Varint(field, protowire.EncodeZigZag(v)) }

// Bool adds a field of type bool.
func (m *Message) Bool(field Field, v bool) { m.Varint(field, protowire.EncodeBool(v)) }

// Fixed adds a field of type fixed64 or sfixed64.
func (m *Message) Fixed(field Field, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), v)
}

// Double adds a field of type double.
func (m *Message) Double(field Field, v float64) { m.Fixed(field, math.Float64bits(v)) }

// Nested adds a field that is a message: what write adds to it.
func (m *Message) Nested(field Field, write func(m *Message)) {
	var inner Message
	write(&inner)
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), inner)
}

// Varints adds a repeated field of type uint64, packed.
func (m *Message) Varints(field Field, list []uint64) {
	m.Nested(field, func(m *Message) {
		for _, v := range list {
			*m = protowire.AppendVarint(*m, v)
		}
	})
}

// Zigzags adds a repeated field of type sint64, packed.
func (m *Message) Zigzags(field Field, list []int64) {
	m.Nested(field, func(m *Message) {
		for _, v := range list {
			*m = protowire.AppendVarint(*m, protowire.EncodeZigZag(v))
		}
	})
}

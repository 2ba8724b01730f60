// Package protobuf writes messages of protocol buffers, field by field.
package protobuf

import (
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is an encoded message that grows.
type Message []byte

// Number is that of a field.
type Number = protowire.Number

// Text adds a field of type string. Receivers refuse a message with a text that is not UTF-8.
func (m *Message) Text(field Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), strings.ToValidUTF8(s, "\uFFFD"))
}

// Varint adds a field of type uint32, uint64, int64 or enum.
func (m *Message) Varint(field Number, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
}

// Zigzag adds a field of type sint32 or sint64.
func (m *Message) Zigzag(field Number, v int64) { m.Varint(field, protowire.EncodeZigZag(v)) }

// Bool adds a field of type bool.
func (m *Message) Bool(field Number, v bool) { m.Varint(field, protowire.EncodeBool(v)) }

// Fixed adds a field of type fixed64 or sfixed64.
func (m *Message) Fixed(field Number, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), v)
}

// Double adds a field of type double.
func (m *Message) Double(field Number, v float64) { m.Fixed(field, math.Float64bits(v)) }

// Nested adds a field that is a message: what write adds to it.
func (m *Message) Nested(field Number, write func(m *Message)) {
	var inner Message
	write(&inner)
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), inner)
}

// Varints adds a repeated field of type uint64, packed.
func (m *Message) Varints(field Number, list []uint64) {
	m.Nested(field, func(m *Message) {
		for _, v := range list {
			*m = protowire.AppendVarint(*m, v)
		}
	})
}

// Zigzags adds a repeated field of type sint64, packed.
func (m *Message) Zigzags(field Number, list []int64) {
	m.Nested(field, func(m *Message) {
		for _, v := range list {
			*m = protowire.AppendVarint(*m, protowire.EncodeZigZag(v))
		}
	})
}

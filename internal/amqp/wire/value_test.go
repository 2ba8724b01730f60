package wire

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	type reading struct {
		n     int64
		yes   bool
		s     string
		which string // of int, bool, bytes
	}
	tests := []struct {
		b    []byte
		want reading
	}{
		{[]byte{CodeNull}, reading{}},
		{[]byte{CodeTrue}, reading{yes: true, which: "bool"}},
		{[]byte{CodeFalse}, reading{which: "bool"}},
		{[]byte{codeBool, 1}, reading{yes: true, which: "bool"}},
		{[]byte{codeUint0}, reading{which: "int"}},
		{[]byte{codeUlong0}, reading{which: "int"}},
		{[]byte{codeUbyte, 0xff}, reading{n: 255, which: "int"}},
		{[]byte{CodeByte, 0xff}, reading{n: -1, which: "int"}},
		{[]byte{codeSmallInt, 0x80}, reading{n: -128, which: "int"}},
		{[]byte{codeSmallLong, 0xfe}, reading{n: -2, which: "int"}},
		{[]byte{codeUshort, 0xff, 0xff}, reading{n: 65535, which: "int"}},
		{[]byte{codeShort, 0xff, 0xfe}, reading{n: -2, which: "int"}},
		{[]byte{CodeUint, 0xff, 0xff, 0xff, 0xff}, reading{n: math.MaxUint32, which: "int"}},
		{[]byte{codeInt, 0xff, 0xff, 0xff, 0xfd}, reading{n: -3, which: "int"}},
		{AppendLong(nil, CodeLong, math.MinInt64), reading{n: math.MinInt64, which: "int"}},
		{AppendLong(nil, CodeTimestamp, 5), reading{n: 5, which: "int"}},
		{appendUlong(nil, math.MaxInt64), reading{n: math.MaxInt64, which: "int"}},
		{appendUlong(nil, math.MaxInt64+1), reading{}},
		{AppendString(nil, "text"), reading{s: "text", which: "bytes"}},
		{appendSymbol(nil, strings.Repeat("s", 256)), reading{s: strings.Repeat("s", 256), which: "bytes"}},
		{bytes.Repeat([]byte{0x98}, 17), reading{}}, // a UUID
	}
	for _, test := range tests {
		d := Decoder{B: test.b}
		v := d.Value()
		var got reading
		if n, ok := v.Int(); ok {
			got.n, got.which = n, got.which+"int"
		}
		if yes, ok := v.Bool(); ok {
			got.yes, got.which = yes, got.which+"bool"
		}
		if s, ok := v.Bytes(); ok {
			got.s, got.which = string(s), got.which+"bytes"
		}
		if got != test.want || d.Bad || len(d.B) > 0 {
			t.Errorf("% x is read as %+v, want %+v; bad %v, %d bytes left", test.b, got, test.want, d.Bad, len(d.B))
		}
	}
}

// Package capture is the file in which takt kafka consume --capture keeps the records of a topic, and
// from which takt kafka produce --recorded writes them again. A file has one JSON object a line: first
// what was captured, then a record each, in the order of their timestamps as far as that of their
// partitions allows. Names that end with .zst or .gz are compressed.
package capture

import (
	"encoding/base64"
	"unicode/utf8"
)

// version is that of the format.
const version = 1

// head is the first line.
type head struct {
	Version    int    `json:"takt_capture"`
	Topic      string `json:"topic"`
	Partitions int32  `json:"partitions"`
}

// line is a record. Texts that are not UTF-8 are base64, in the second field. Without both fields a key or
// value is null.
type line struct {
	At        int64    `json:"t"` // milliseconds since 1970
	Partition int32    `json:"p"`
	Offset    int64    `json:"o"`
	Key       *string  `json:"k,omitempty"`
	Key64     *string  `json:"k64,omitempty"`
	Value     *string  `json:"v,omitempty"`
	Value64   *string  `json:"v64,omitempty"`
	Headers   []header `json:"h,omitempty"`
}

type header struct {
	Name    string  `json:"n"`
	Value   *string `json:"v,omitempty"`
	Value64 *string `json:"v64,omitempty"`
}

// mostLine limits a line, so that a file of a stranger costs no more memory. Brokers accept messages of
// 1 MiB by default.
const mostLine = 16 << 20

// texts are the two fields of b.
func texts(b []byte) (text, encoded *string) {
	if b == nil {
		return nil, nil
	}
	var s string
	if utf8.Valid(b) {
		s = string(b)
		return &s, nil
	}
	s = base64.StdEncoding.EncodeToString(b)
	return nil, &s
}

// bytesOf is what texts made of b; ok: the fields are valid.
func bytesOf(text, encoded *string) (b []byte, ok bool) {
	switch {
	case text != nil && encoded != nil:
		return nil, false
	case text != nil:
		return append([]byte{}, *text...), true
	case encoded != nil:
		b, err := base64.StdEncoding.DecodeString(*encoded)
		return append([]byte{}, b...), err == nil
	}
	return nil, true
}

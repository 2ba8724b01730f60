// Package wire has the frames of HTTP/2 (RFC 9113), for client and server.
package wire

import (
	"encoding/binary"
	"fmt"
)

// Preface is what a client sends first (RFC 9113, 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Types of frames (RFC 9113, 6).
const (
	Data = iota
	Headers
	Priority
	Reset
	Settings
	Push
	Ping
	GoAway
	Window
	Continuation
)

// Flags of frames.
const (
	FlagEndStream  = 0x1
	FlagAck        = 0x1
	FlagEndHeaders = 0x4
	FlagPadded     = 0x8
	FlagPriority   = 0x20
)

// Settings (RFC 9113, 6.5.2).
const (
	SettingTable   = 1
	SettingPush    = 2
	SettingStreams = 3
	SettingWindow  = 4
	SettingFrame   = 5
	SettingHeaders = 6
)

// Sizes and limits of RFC 9113.
const (
	HeaderLength  = 9        // of a frame
	SettingLength = 6        // of one setting
	LeastFrame    = 16 << 10 // largest payload that every peer accepts
	MostFrame     = 1<<24 - 1
	MostWindow    = 1<<31 - 1
	FirstWindow   = 1<<16 - 1 // of a stream and a connection, until settings and updates change them
	MostStream    = 1<<31 - 1
)

// Header is the header of a frame.
type Header struct {
	Length int
	Kind   byte
	Flags  byte
	Stream uint32
}

// ReadHeader reads the header at the start of b, which has at least HeaderLength bytes.
func ReadHeader(b []byte) Header {
	return Header{
		Length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]), Kind: b[3], Flags: b[4],
		Stream: binary.BigEndian.Uint32(b[5:]) & MostStream,
	}
}

// Has reports whether the flag is set.
func (h Header) Has(flag byte) bool { return h.Flags&flag != 0 }

// Unpad removes the padding of a DATA or HEADERS frame. The code is NoError unless the padding is
// wrong.
func (h Header) Unpad(b []byte) ([]byte, Code) {
	if !h.Has(FlagPadded) {
		return b, NoError
	}
	if len(b) == 0 {
		return nil, FrameSizeError
	}
	if pad := int(b[0]); pad < len(b) {
		return b[1 : len(b)-pad], NoError
	}
	return nil, ProtocolError
}

// AppendHeader appends the header of a frame.
func AppendHeader(dst []byte, length int, kind, flags byte, stream uint32) []byte {
	dst = append(dst, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(dst, stream)
}

// SetLength completes the header at b of a frame whose payload follows to the end of b.
func SetLength(b []byte) {
	n := len(b) - HeaderLength
	b[0], b[1], b[2] = byte(n>>16), byte(n>>8), byte(n)
}

// AppendSetting appends one setting of a SETTINGS frame.
func AppendSetting(dst []byte, id uint16, value uint32) []byte {
	dst = binary.BigEndian.AppendUint16(dst, id)
	return binary.BigEndian.AppendUint32(dst, value)
}

// AppendNumber appends a frame of one number: WINDOW_UPDATE or RST_STREAM.
func AppendNumber(dst []byte, kind byte, stream, n uint32) []byte {
	return binary.BigEndian.AppendUint32(AppendHeader(dst, 4, kind, 0, stream), n)
}

// AppendGoAway appends GOAWAY.
func AppendGoAway(dst []byte, last uint32, c Code) []byte {
	dst = binary.BigEndian.AppendUint32(AppendHeader(dst, 8, GoAway, 0, 0), last)
	return binary.BigEndian.AppendUint32(dst, uint32(c))
}

// Code is an error code (RFC 9113, 7).
type Code uint32

// The error codes.
const (
	NoError Code = iota
	ProtocolError
	InternalError
	FlowControlError
	SettingsTimeout
	StreamClosed
	FrameSizeError
	RefusedStream
	Cancel
	CompressionError
	ConnectError
	EnhanceYourCalm
	InadequateSecurity
	HTTP11Required
	Codes = iota // number of codes
)

var names = [Codes]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
	"REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

// String is the name of the code in RFC 9113.
func (c Code) String() string {
	if c < Codes {
		return names[c]
	}
	return fmt.Sprintf("error code %d", uint32(c))
}

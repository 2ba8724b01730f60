package http2

import "encoding/binary"

// preface is what a client sends first (RFC 9113, 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Types of frames (RFC 9113, 6).
const (
	frameData = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePush
	framePing
	frameGoAway
	frameWindow
	frameContinuation
)

const (
	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// Settings (RFC 9113, 6.5.2).
const (
	settingTable   = 1
	settingPush    = 2
	settingStreams = 3
	settingWindow  = 4
	settingFrame   = 5
	settingHeaders = 6
)

const (
	frameHeader   = 9
	leastFrame    = 16 << 10 // largest payload that any peer takes, and the largest that we take
	mostFrame     = 1<<24 - 1
	mostWindow    = 1<<31 - 1
	firstWindow   = 1<<16 - 1 // of a stream and a connection, until settings and updates change them
	mostStream    = 1<<31 - 1
	ourWindow     = 1 << 30 // what we allow each stream, and the connection; nothing is kept of it
	refillFrom    = ourWindow / 2
	settingLength = 6
)

// header is the header of a frame.
type header struct {
	length int
	kind   byte
	flags  byte
	stream uint32
}

func readHeader(b []byte) header {
	return header{
		length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]), kind: b[3], flags: b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & mostStream,
	}
}

func (h header) has(flag byte) bool { return h.flags&flag != 0 }

func appendHeader(dst []byte, length int, kind, flags byte, stream uint32) []byte {
	dst = append(dst, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(dst, stream)
}

// setLength completes the header at b of a frame whose payload follows to the end of b.
func setLength(b []byte) {
	n := len(b) - frameHeader
	b[0], b[1], b[2] = byte(n>>16), byte(n>>8), byte(n)
}

func appendSetting(dst []byte, id uint16, value uint32) []byte {
	dst = binary.BigEndian.AppendUint16(dst, id)
	return binary.BigEndian.AppendUint32(dst, value)
}

// appendNumber appends a frame of one number: WINDOW_UPDATE or RST_STREAM.
func appendNumber(dst []byte, kind byte, stream, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHeader(dst, 4, kind, 0, stream), n)
}

// unpad removes the padding of a DATA or HEADERS frame.
func unpad(h header, b []byte) ([]byte, *fault) {
	if !h.has(flagPadded) {
		return b, nil
	}
	if len(b) == 0 {
		return nil, errShort
	}
	if pad := int(b[0]); pad < len(b) {
		return b[1 : len(b)-pad], nil
	}
	return nil, errPadding
}

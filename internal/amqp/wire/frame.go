package wire

import "strings"

// Types of frames (part 2, section 2.3.1).
const (
	FrameAMQP = 0x00
	FrameSASL = 0x01
)

const (
	frameHead     = 8   // bytes of a frame's header: size, data offset, type, channel
	MinFrame      = 512 // largest frame that every peer accepts (part 2, section 2.3.2)
	ProtocolAMQP  = "AMQP\x00\x01\x00\x00"
	ProtocolSASL  = "AMQP\x03\x01\x00\x00"
	ProtocolBytes = len(ProtocolAMQP)
)

// IsAMQP reports whether an answer begins with a protocol header, or a part of one.
func IsAMQP(s string) bool {
	const magic = "AMQP"
	return strings.HasPrefix(magic, s) || strings.HasPrefix(s, magic)
}

// OpenFrame appends a frame's header. CloseFrame completes it, with the length before
// OpenFrame.
func OpenFrame(b []byte, kind byte, channel uint16) []byte {
	b = append(b, 0, 0, 0, 0, frameHead/4, kind)
	return order.AppendUint16(b, channel)
}

// CloseFrame sets the size of the frame that begins at the offset at.
func CloseFrame(b []byte, at int) []byte {
	order.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

// Performative is the content of a frame.
type Performative interface{ Append(b []byte) []byte }

// AppendFrame appends a frame with a performative.
func AppendFrame(b []byte, channel uint16, p Performative) []byte {
	at := len(b)
	return CloseFrame(p.Append(OpenFrame(b, FrameAMQP, channel)), at)
}

// Frame is one received frame; body is empty in a heartbeat.
type Frame struct {
	Kind    byte
	Channel uint16
	Body    []byte
}

// readFrame reads the frame at the front of b. n is its size, or 0 while b lacks its header.
// f is valid only if b has n bytes.
func readFrame(b []byte, max uint32) (f Frame, n int, err error) {
	if len(b) < frameHead {
		return Frame{}, 0, nil
	}
	size, offset := order.Uint32(b), int(b[4])*4
	switch {
	case size < frameHead || offset < frameHead || uint64(offset) > uint64(size):
		return Frame{}, 0, Malformed("a frame of %d bytes whose body begins at %d", size, offset)
	case size > max:
		return Frame{}, 0, Malformed("a frame of %d bytes where %d were allowed", size, max)
	case len(b) < int(size):
		return Frame{}, int(size), nil
	}
	return Frame{b[5], order.Uint16(b[6:]), b[offset:size]}, int(size), nil
}

// Performative returns f's performative and the bytes after it: a message or a part of one.
func (f *Frame) Performative() (is uint64, list Fields, rest []byte, err error) {
	d := Decoder{B: f.Body}
	is, v := d.Described()
	list = v.List()
	if d.Bad || list.Bad || is == 0 {
		return 0, Fields{}, nil, Malformed("a frame that holds no described list")
	}
	return is, list, d.B, nil
}

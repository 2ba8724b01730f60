package amqp

// Types of frames (part 2, section 2.3.1).
const (
	frameAMQP = 0x00
	frameSASL = 0x01
)

const (
	frameHead     = 8   // bytes of a frame's header: size, data offset, type, channel
	minFrame      = 512 // largest frame that every peer accepts (part 2, section 2.3.2)
	protocolAMQP  = "AMQP\x00\x01\x00\x00"
	protocolSASL  = "AMQP\x03\x01\x00\x00"
	protocolBytes = len(protocolAMQP)
)

// openFrame appends a frame's header. closeFrame completes it, with the length before
// openFrame.
func openFrame(b []byte, kind byte, channel uint16) []byte {
	b = append(b, 0, 0, 0, 0, frameHead/4, kind)
	return be.AppendUint16(b, channel)
}

func closeFrame(b []byte, at int) []byte {
	be.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

// performative is the content of a frame.
type performative interface{ append(b []byte) []byte }

func appendFrame(b []byte, channel uint16, p performative) []byte {
	at := len(b)
	return closeFrame(p.append(openFrame(b, frameAMQP, channel)), at)
}

// frame is one received frame; body is empty in a heartbeat.
type frame struct {
	kind    byte
	channel uint16
	body    []byte
}

// readFrame reads the frame at the front of b. n is its size, or 0 while b lacks its header.
// f is valid only if b has n bytes.
func readFrame(b []byte, max uint32) (f frame, n int, err error) {
	if len(b) < frameHead {
		return frame{}, 0, nil
	}
	size, offset := be.Uint32(b), int(b[4])*4
	switch {
	case size < frameHead || offset < frameHead || uint64(offset) > uint64(size):
		return frame{}, 0, malformed("a frame of %d bytes whose body begins at %d", size, offset)
	case size > max:
		return frame{}, 0, malformed("a frame of %d bytes where %d were allowed", size, max)
	case len(b) < int(size):
		return frame{}, int(size), nil
	}
	return frame{b[5], be.Uint16(b[6:]), b[offset:size]}, int(size), nil
}

// performative returns f's performative and the bytes after it: a message or a part of one.
func (f *frame) performative() (is uint64, list fields, rest []byte, err error) {
	d := decoder{b: f.body}
	is, v := d.described()
	list = v.list()
	if d.bad || list.bad || is == 0 {
		return 0, fields{}, nil, malformed("a frame that holds no described list")
	}
	return is, list, d.b, nil
}

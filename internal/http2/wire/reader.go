package wire

import "bytes"

// Reader is what either side keeps of frames between two reads: the rest of a DATA frame, and a
// header block that is not complete.
type Reader struct {
	Of   Header // of the last DATA frame
	Ends bool   // the last header block ends its stream

	data  int    // bytes of a DATA frame that are still to come, without padding
	pad   int    // bytes of padding that are still to come
	block []byte // of headers that are not complete, if until is not 0
	until uint32 // stream whose CONTINUATION must follow; 0: none
}

// Reset prepares r for a new connection.
func (r *Reader) Reset() { *r = Reader{block: r.block[:0]} }

// Kept is the size of the memory that r keeps.
func (r *Reader) Kept() int { return cap(r.block) }

// Needs is how many bytes of a frame must be here before it is handled: all, but of DATA only those
// before its content.
func (h Header) Needs() int {
	switch {
	case h.Kind != Data:
		return HeaderLength + h.Length
	case h.Has(FlagPadded) && h.Length > 0:
		return HeaderLength + 1
	}
	return HeaderLength
}

// InSequence reports whether the frame may come now: a header block that is not complete is followed
// by its CONTINUATION only.
func (r *Reader) InSequence(h Header) bool {
	if r.until == 0 {
		return h.Kind != Continuation
	}
	return h.Kind == Continuation && h.Stream == r.until
}

// BeginData begins a DATA frame. pad is the length of its padding, if there is any.
func (r *Reader) BeginData(h Header, pad []byte) Code {
	r.data, r.pad, r.Of = h.Length, 0, h
	if !h.Has(FlagPadded) {
		return NoError
	}
	if h.Length == 0 {
		return FrameSizeError
	}
	r.pad = int(pad[0])
	if r.data = h.Length - 1 - r.pad; r.data < 0 {
		return ProtocolError
	}
	return NoError
}

// InData reports whether a part of a DATA frame is still to come.
func (r *Reader) InData() bool { return r.data+r.pad > 0 }

// TakeData takes bytes of a DATA frame, n with padding, and returns those that are no padding.
func (r *Reader) TakeData(in []byte) (content []byte, n int) {
	content = in[:min(len(in), r.data)]
	r.data -= len(content)
	n = len(content)
	if r.data == 0 {
		skip := min(len(in)-n, r.pad)
		r.pad -= skip
		n += skip
	}
	return content, n
}

// BeginBlock begins the header block of a HEADERS frame. whole: the block is complete.
func (r *Reader) BeginBlock(h Header, b []byte) (block []byte, whole bool, code Code) {
	if b, code = h.Unpad(b); code != NoError {
		return nil, false, code
	}
	if h.Has(FlagPriority) {
		if len(b) < 5 {
			return nil, false, FrameSizeError
		}
		b = b[5:]
	}
	r.Ends = h.Has(FlagEndStream)
	if h.Has(FlagEndHeaders) {
		return b, true, NoError
	}
	r.until = h.Stream
	r.block = append(r.block[:0], b...)
	return nil, false, NoError
}

// JoinBlock goes on with CONTINUATION. A block of more than most bytes is EnhanceYourCalm.
func (r *Reader) JoinBlock(h Header, b []byte, most int) (block []byte, whole bool, code Code) {
	if len(r.block)+len(b) > most {
		return nil, false, EnhanceYourCalm
	}
	r.block = append(r.block, b...)
	if !h.Has(FlagEndHeaders) {
		return nil, false, NoError
	}
	r.until = 0
	return r.block, true, NoError
}

// OutFull is the size of what is to be sent from which no more of a body is added to it.
const OutFull = 64 << 10

// Compact removes the first bytes of out, which are sent, if that is all or much.
func Compact(out []byte, sent int) (rest []byte, left int) {
	switch {
	case sent == len(out):
		return out[:0], 0
	case sent > OutFull:
		return out[:copy(out, out[sent:])], 0
	}
	return out, sent
}

// OfConnection reports whether a header is about a connection of HTTP/1.1 (RFC 9113, 8.2.2).
func OfConnection(name, value []byte) bool {
	switch string(name) {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	case "te":
		return !bytes.EqualFold(value, []byte("trailers"))
	}
	return false
}

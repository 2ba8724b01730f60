package http1

import (
	"bytes"
	"math"

	"github.com/taktload/takt/pkg/takt"
)

// endHead handles the empty line after a head. An interim answer has no body; another head
// follows it.
func (c *Codec) endHead() *fault {
	if f := c.said.settle(); f != nil {
		return f
	}
	c.phase = atBody
	if s := c.said.status; s < 200 && s != 101 {
		c.phase = atStatus
	}
	return nil
}

// settle applies the headers' combined meaning.
//
// As in net/http, a Transfer-Encoding wins over a Content-Length, and in an HTTP/1.0 answer
// it is ignored. Both are signs that a proxy may count differently. So, unlike net/http, the
// connection is not reused (RFC 9112, 6.1 and 6.3).
func (h *head) settle() *fault {
	if h.old {
		h.close = h.close || !h.keepAlive || h.codings > 0
		h.chunked = false
		return nil
	}
	if h.codings > 1 || h.codings == 1 && !h.chunked {
		return errCoding
	}
	h.close = h.close || h.chunked && h.length >= 0
	return nil
}

// begin applies the final answer's head to the result and the body. It is all that depends on
// more than the head's bytes, so recall must not skip it.
func (c *Codec) begin(r *takt.Result) *fault {
	r.Status = c.said.status
	if r.Status == 101 {
		return ErrSwitched
	}
	r.Body = r.Body[:0]
	if c.opt.Fail != nil {
		c.class = c.opt.Fail(r.Status)
	}
	return c.startBody()
}

// startBody decides how the body ends (RFC 9112, 6.3).
func (c *Codec) startBody() *fault {
	h := &c.said
	switch {
	case c.head, h.status == 204, h.status == 304:
		c.phase = complete
	case h.chunked:
		c.phase = atChunk
	case h.length < 0:
		h.close = true
		c.phase = inRest
	case h.length > c.bodyLeft:
		return errLongBody
	case h.length == 0:
		c.phase = complete
	default:
		c.phase, c.left = inBody, h.length
	}
	return nil
}

// readBody reads up to c.left bytes of the body; next is the phase after it.
func (c *Codec) readBody(in []byte, next phase, r *takt.Result) (int, *fault) {
	n := int(min(int64(len(in)), c.left))
	c.got += int64(n)
	c.opt.Keep(c.class, in[:n], r, &c.kept)
	c.left -= int64(n)
	if f := c.pass(in[:n], c.left == 0 && next == atChunkEnd); f != nil {
		return n, f
	}
	if c.left > 0 {
		return n, starved
	}
	c.phase = next
	return n, nil
}

func (c *Codec) readRest(in []byte, r *takt.Result) (int, *fault) {
	n := int(min(int64(len(in)), c.bodyLeft))
	c.opt.Keep(c.class, in[:n], r, &c.kept)
	c.bodyLeft -= int64(n)
	c.got += int64(n)
	if f := c.pass(in[:n], false); f != nil {
		return n, f
	}
	if n < len(in) {
		return n, errLongBody
	}
	return n, starved
}

// pass gives the bytes of a good body to who wants them.
func (c *Codec) pass(b []byte, ends bool) *fault {
	if c.opt.Body == nil || c.class != "" {
		return nil
	}
	if err := c.opt.Body(b, ends); err != nil {
		return &fault{ClassTooLarge, err.Error()}
	}
	return nil
}

// Keep adds b to the beginning of a body: in r.Body if the answer failed with class, and in k if it is to be
// checked.
func (o *Options) Keep(class string, b []byte, r *takt.Result, k *Kept) {
	switch {
	case class != "":
		r.Body = append(r.Body, b[:max(0, min(len(b), o.Sample-len(r.Body)))]...)
	case o.Check != nil && (o.Reads == nil || o.Reads()):
		k.Add(b, CheckBytes, o.Room)
	}
}

// maxChunkLine is net/http's limit: 4095 bytes, CR and LF.
const maxChunkLine = 4095 + 2

func (c *Codec) readChunkSize(in []byte) (int, *fault) {
	n, f := cutLine(in, maxChunkLine, errLongChunk)
	if f != nil {
		return 0, f
	}
	size, ok := parseChunkSize(in[:n])
	switch {
	case !ok:
		return n, errChunkSize
	case size > c.bodyLeft:
		return n, errLongBody
	case size == 0:
		c.phase = atTrailer
	default:
		c.phase, c.left = inChunk, size
		c.bodyLeft -= size
	}
	return n, nil
}

// parseChunkSize ignores extensions. Unlike a head's, these lines must end with
// CR LF and have no other CR (RFC 9112, erratum 7633).
func parseChunkSize(line []byte) (int64, bool) {
	end := len(line) - 2
	if end < 0 || bytes.IndexByte(line, '\r') != end {
		return 0, false
	}
	size, _, _ := bytes.Cut(trimRightOWS(line[:end]), []byte{';'})
	return parseHex(size)
}

// parseHex accepts at most 16 digits, as net/http does, leading zeros included.
func parseHex(s []byte) (int64, bool) {
	var n uint64
	for _, b := range s {
		d, ok := hexDigit(b)
		if !ok {
			return 0, false
		}
		n = n<<4 | d
	}
	return int64(n), len(s) > 0 && len(s) <= 16 && n <= math.MaxInt64
}

func hexDigit(b byte) (uint64, bool) {
	if b >= '0' && b <= '9' {
		return uint64(b - '0'), true
	}
	b |= 0x20
	return uint64(b-'a') + 10, b >= 'a' && b <= 'f'
}

func (c *Codec) readChunkEnd(in []byte) (int, *fault) {
	if len(in) < 2 {
		return 0, starved
	}
	if in[0] != '\r' || in[1] != '\n' {
		return 0, errChunkEnd
	}
	c.phase = atChunk
	return 2, nil
}

// readTrailer checks and drops trailers. Trailers are part of the chunked framing, so a line
// must end with CR LF here, too.
func (c *Codec) readTrailer(in []byte) (int, *fault) {
	line, n, f := c.headLine(in)
	if f != nil {
		return 0, f
	}
	if len(line) != n-2 {
		return n, errTrailerEnd
	}
	if n == 2 {
		c.phase = complete
		return n, nil
	}
	_, _, f = c.splitField(line)
	return n, f
}

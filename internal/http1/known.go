package http1

import "bytes"

// maxKnown is how long a head may be to be remembered: with 10 000 connections it
// makes 10 MB.
const maxKnown = 1 << 10

// known is the last head and what the codec knew after it. The heads of one
// server differ once a second, by their Date, and to compare 240 bytes takes 8 ns
// where reading them takes 280.
type known struct {
	bytes  []byte // from an answer's first byte on, interim heads included; none: nothing is known
	answer answer // as the empty line left it, before begin
}

// recall goes on behind the head that is known, if in begins with it. in must be
// an answer's first bytes. What the codec knows after a head follows from its
// bytes alone, so nothing else has to be the same.
func (c *Codec) recall(in []byte) bool {
	k := &c.known
	if len(k.bytes) == 0 || !bytes.HasPrefix(in, k.bytes) {
		return false
	}
	c.answer = k.answer
	return true
}

// remember keeps the head that was just read from its answer's first byte on.
func (c *Codec) remember(head []byte) {
	if len(head) <= maxKnown {
		c.known.bytes = append(c.known.bytes[:0], head...)
		c.known.answer = c.answer
	}
}

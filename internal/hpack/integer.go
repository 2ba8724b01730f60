package hpack

// readInt reads the integer at the start of p (RFC 7541, 5.1). n is its length. It is 0 if p is
// too short, and negative if the integer is too large.
func readInt(p []byte, mask byte) (v uint64, n int) {
	if len(p) == 0 {
		return 0, 0
	}
	if v := p[0] & mask; v < mask {
		return uint64(v), 1
	}
	return readLong(p, uint64(mask))
}

// readLong reads an integer of several bytes. Nine bytes after the first always fit 64 bits.
// Leading zeros are legal.
func readLong(p []byte, v uint64) (uint64, int) {
	for n := 1; n < len(p); n++ {
		if n > 9 {
			return 0, -1
		}
		v += uint64(p[n]&0x7f) << (7 * (n - 1))
		if p[n] < 0x80 {
			return v, n + 1
		}
	}
	return 0, 0
}

// integerError is the error of a length that readInt returned.
func integerError(n int) error {
	if n < 0 {
		return errInteger
	}
	return errTruncated
}

// appendInt appends an integer whose first byte has the bits of kind above those of mask.
func appendInt(dst []byte, kind, mask byte, v uint64) []byte {
	if v < uint64(mask) {
		return append(dst, kind|byte(v))
	}
	dst = append(dst, kind|mask)
	for v -= uint64(mask); v >= 0x80; v >>= 7 {
		dst = append(dst, byte(v)|0x80)
	}
	return append(dst, byte(v))
}

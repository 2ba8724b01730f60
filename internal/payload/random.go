// Package payload makes the text of operations: random bodies, lines of a file,
// and templates, of which every value is a pure function of the seed, the
// operation's number and the place in the template. So workers share nothing
// that changes, and the same run again sends the same bytes. Only the time of
// day is not repeated.
package payload

import "slices"

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	// alphabet is that of URL-safe base64: none of its 64 characters has to be
	// escaped in JSON, CSV, a header or a URL, and six random bits make one.
	alphabet = letters + "-_"
)

const (
	blockBytes = 1 << 20 // fits the second-level cache of today's servers
	perWord    = 10      // characters from one 64-bit number, six bits each
)

// stride is the odd number next to blockBytes over the golden ratio. As it is
// odd, the offsets of blockBytes operations in a row all differ. And it spreads
// them evenly: bodies of 10 B or more do not overlap within 240 000 B of text,
// while gzip looks back 32 KiB, snappy and lz4 64 KiB.
const stride = 648055

// Random holds a block of printable random text from which bodies are cut at
// arbitrary offsets, so that a body costs a copy and not a generator's step for
// each byte. It compresses to three quarters, by its 64 characters; zstd, which
// looks back further, can find repetitions after 240 000 B of bodies.
type Random struct{ block []byte }

// NewRandom makes the block, of 1 MiB, in about 2 ms. It is only read from then
// on, so r is safe for concurrent use.
func NewRandom(seed uint64) *Random {
	block := make([]byte, 0, blockBytes+perWord)
	for len(block) < blockBytes {
		seed += gamma
		word := mix(seed)
		for range perWord {
			block = append(block, alphabet[word%64])
			word /= 64
		}
	}
	return &Random{block[:blockBytes]}
}

// Append appends n bytes to dst, and none if n is negative. Which ones follows
// from at, for example the operation's Seq; n is no part of it, so that a shorter
// body is the beginning of a longer one. After 1 MiB the text repeats.
func (r *Random) Append(dst []byte, n int, at uint64) []byte {
	if n <= 0 {
		return dst
	}
	dst = slices.Grow(dst, n)
	from := r.block[at*stride%blockBytes:]
	for n > len(from) {
		dst = append(dst, from...)
		n -= len(from)
		from = r.block
	}
	return append(dst, from[:n]...)
}

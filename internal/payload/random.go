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
	alphabet  = letters + "-_"
	hexDigits = "0123456789abcdef"
)

const (
	blockBytes = 1 << 20 // fits the second-level cache of today's servers
	perWord    = 10      // characters from one 64-bit number, six bits each
)

// Random holds a block of printable random text from which bodies are cut, so that a
// body costs a copy and not a generator's step for each byte. It compresses to three
// quarters, by its 64 characters; compressors that look back further than 1 MiB, as
// zstd does, can find repetitions.
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

// Append appends n bytes to dst, and none if n is negative. Which ones follows from n
// and at, for example the operation's Seq. Within one body the text repeats after 1 MiB.
func (r *Random) Append(dst []byte, n int, at uint64) []byte {
	if n <= 0 {
		return dst
	}
	dst = slices.Grow(dst, n)
	from := r.block[offset(n, at):]
	for n > len(from) {
		dst = append(dst, from...)
		n -= len(from)
		from = r.block
	}
	return append(dst, from[:n]...)
}

// offset is where in the block a body begins. Bodies of one length with successive at lie
// one behind the other, which the processor reads ahead, and overlap only after 1 MiB of
// text; as the distance is odd, 1<<20 of them begin at different places.
func offset(n int, at uint64) uint64 { return at * uint64(n|1) % blockBytes }

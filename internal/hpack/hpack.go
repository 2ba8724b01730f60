// Package hpack compresses the headers of HTTP/2 (RFC 7541), for a client that sends the same
// request many times. It does not allocate once its buffers have grown.
package hpack

import "errors"

// ErrTooLarge is the error of a header list that exceeds the limit of the decoder.
var ErrTooLarge = errors.New("header list over the limit of bytes")

// All other errors of Decode are COMPRESSION_ERROR for HTTP/2. They exist once: a server that
// fails often costs no allocation.
var (
	errTruncated = errors.New("header block ends within a field")
	errInteger   = errors.New("integer of a header block over 63 bits")
	errIndex     = errors.New("header block names a table entry that does not exist")
	errSize      = errors.New("header block sets a table size over the limit")
	errLate      = errors.New("header block changes the table size after a field")
	errHuffman   = errors.New("invalid Huffman code in a header block")
)

// The kinds of a representation: its highest bits, then the bits of its integer (RFC 7541, 6).
const (
	indexed, indexedMask = 0x80, 0x7f
	added, addedMask     = 0x40, 0x3f // a literal that both sides add to their table
	resized, resizedMask = 0x20, 0x1f
	never, neverMask     = 0x10, 0x0f // a literal that intermediaries must not add to a table either
	plain, plainMask     = 0x00, 0x0f // a literal that nobody adds
)

// coded marks a string in Huffman code. The other bits are those of its length.
const coded, lengthMask = 0x80, 0x7f

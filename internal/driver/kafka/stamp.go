package kafka

import (
	"encoding/binary"
	"encoding/hex"
)

// stamp identifies a record, so that a consumer can count lost, doubled and reordered
// records, and measure the transit time. Records of one stream and partition are numbered
// from 0 in the order of writing.
type stamp struct {
	run    runID
	stream uint16 // connection set, plus its writer if each writer has its own order
	number uint64
	due    int64  // due time in ns since 1970
	token  uint64 // identifies the operation in the process that sent it
}

// streamKey identifies a stream of records numbered without gaps.
type streamKey struct {
	run       runID
	stream    uint16
	partition int32
}

// runID identifies the records of one run.
type runID [8]byte

func (id runID) String() string { return hex.EncodeToString(id[:]) }

// The stamp is at the head of a random message with room for it, otherwise in the header
// stampHeader: the user's own messages are not changed.
const (
	stampMagic  = "tkt1"
	stampBytes  = len(stampMagic) + len(runID{}) + 2 + 3*8
	stampHeader = "takt"
)

// put writes s into the first stampBytes of b.
func (s *stamp) put(b []byte) {
	copy(b, stampMagic)
	copy(b[4:], s.run[:])
	binary.BigEndian.PutUint16(b[12:], s.stream)
	binary.BigEndian.PutUint64(b[14:], s.number)
	binary.BigEndian.PutUint64(b[22:], uint64(s.due))
	binary.BigEndian.PutUint64(b[30:], s.token)
}

// readStamp reports whether b begins with a stamp.
func readStamp(b []byte) (s stamp, ok bool) {
	if len(b) < stampBytes || string(b[:4]) != stampMagic {
		return s, false
	}
	copy(s.run[:], b[4:])
	s.stream = binary.BigEndian.Uint16(b[12:])
	s.number = binary.BigEndian.Uint64(b[14:])
	s.due = int64(binary.BigEndian.Uint64(b[22:]))
	s.token = binary.BigEndian.Uint64(b[30:])
	return s, true
}

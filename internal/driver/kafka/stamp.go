package kafka

import (
	"encoding/binary"
	"encoding/hex"
)

// stamp is what a record says of itself, so that a consumer can count what is lost,
// doubled or out of order, and how long the way was. Records of one stream and
// partition are numbered from 0 in the order in which they were written.
type stamp struct {
	run    runID
	stream uint16 // connection set, and its writer where each has an order of its own
	number uint64
	due    int64  // ns since 1970
	token  uint64 // names the operation to the process that sent it
}

// streamKey is where numbers run without a gap.
type streamKey struct {
	run       runID
	stream    uint16
	partition int32
}

// runID tells the records of one run from those of others.
type runID [8]byte

func (id runID) String() string { return hex.EncodeToString(id[:]) }

// The stamp stands at the head of a random message that has room for it, else in the
// header stampHeader: a message of the user's own is not changed.
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

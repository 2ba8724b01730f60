package cluster

import (
	"encoding/binary"
	"encoding/hex"
)

// Stamp identifies a record, so that a consumer can count lost, doubled and reordered
// records, and measure the transit time. Records of one stream and partition are numbered
// from 0 in the order of writing.
type Stamp struct {
	Run    RunID
	Stream uint16 // connection set, plus its writer if each writer has its own order
	Number uint64
	Due    int64  // due time in ns since 1970
	Token  uint64 // identifies the operation in the process that sent it
}

// StreamKey identifies a stream of records numbered without gaps.
type StreamKey struct {
	Run       RunID
	Stream    uint16
	Partition int32
}

// RunID identifies the records of one run.
type RunID [8]byte

func (id RunID) String() string { return hex.EncodeToString(id[:]) }

// The stamp is at the head of a random message with room for it, otherwise in the header
// StampHeader: the user's own messages are not changed.
const (
	stampMagic  = "tkt1"
	StampBytes  = len(stampMagic) + len(RunID{}) + 2 + 3*8
	StampHeader = "takt"
)

// Put writes s into the first StampBytes of b.
func (s *Stamp) Put(b []byte) {
	copy(b, stampMagic)
	copy(b[4:], s.Run[:])
	binary.BigEndian.PutUint16(b[12:], s.Stream)
	binary.BigEndian.PutUint64(b[14:], s.Number)
	binary.BigEndian.PutUint64(b[22:], uint64(s.Due))
	binary.BigEndian.PutUint64(b[30:], s.Token)
}

// ReadStamp reports whether b begins with a stamp.
func ReadStamp(b []byte) (s Stamp, ok bool) {
	if len(b) < StampBytes || string(b[:4]) != stampMagic {
		return s, false
	}
	copy(s.Run[:], b[4:])
	s.Stream = binary.BigEndian.Uint16(b[12:])
	s.Number = binary.BigEndian.Uint64(b[14:])
	s.Due = int64(binary.BigEndian.Uint64(b[22:]))
	s.Token = binary.BigEndian.Uint64(b[30:])
	return s, true
}

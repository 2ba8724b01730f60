package target

import (
	"math"
	"time"
)

// Bounds of the ledger: 1<<20 entries of 40 bytes are 40 MiB, made in pieces of
// 160 KiB as they fill.
const (
	maxRecords = 1 << 20
	pieceSize  = 1 << 12
)

// unreleased is the lateness of a request that was not released.
const unreleased = math.MaxUint32

// entry is a Record in 40 bytes and without pointers, so that the garbage
// collector passes over it. End follows from start and service.
type entry struct {
	arrival, service, start time.Duration
	late                    uint32 // released − end in ns, at most 4.29 s
	unread                  uint32 // arrival − came in ns, at most 4.29 s
	outcome                 Outcome
}

// ledger keeps the first maxRecords requests and counts them all. It is not safe
// for concurrent use.
type ledger struct {
	pieces  [][]entry
	counts  Counts
	skipped uint64
}

// open records a request that is to be served and returns its number, negative
// when the ledger is full.
func (l *ledger) open(e entry) int {
	n := int(l.counts.Requests - l.skipped)
	l.counts.Requests++
	l.counts.Unfinished++
	if n >= maxRecords {
		l.skipped++
		return -1
	}
	if n%pieceSize == 0 {
		l.pieces = append(l.pieces, make([]entry, 0, pieceSize))
	}
	e.late = unreleased
	p := &l.pieces[n/pieceSize]
	*p = append(*p, e)
	return n
}

// close notes that request n came to its outcome, that much after its end.
func (l *ledger) close(n int, o Outcome, late time.Duration) {
	l.counts.Unfinished--
	l.counts.add(o)
	if n >= 0 {
		l.pieces[n/pieceSize][n%pieceSize].late = uint32(min(max(late, 0), unreleased-1))
	}
}

// records are all entries in full.
func (l *ledger) records(freezes calendar) []Record {
	rs := make([]Record, 0, l.counts.Requests-l.skipped)
	for _, p := range l.pieces {
		for _, e := range p {
			rs = append(rs, e.record(freezes))
		}
	}
	return rs
}

func (e entry) record(freezes calendar) Record {
	r := Record{Arrival: e.arrival, Service: e.service, Start: e.start, Released: -1, Outcome: e.outcome, Came: e.arrival - time.Duration(e.unread)}
	r.End = freezes.end(e.start, e.service)
	if e.late != unreleased {
		r.Released = r.End + time.Duration(e.late)
	}
	return r
}

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
	maxLogged  = 1 << 22 // tokens, of 24 bytes
)

// unreleased is the lateness of a request that was not released.
const unreleased = math.MaxUint32

// entry is a Record in 40 bytes and without pointers, so that the garbage
// collector passes over it. End follows from start and service.
type entry struct {
	arrival, service, start time.Duration
	late                    uint32 // released − end in ns, at most 4.29 s
	unread                  uint32 // arrival − came in ns, at most 4.29 s
	prompt                  uint32 // tokens
	outcome                 Outcome
}

// logged is a token of a stream.
type logged struct {
	record    uint32
	due, sent time.Duration
}

// ledger keeps the first maxRecords requests and counts them all. It is not safe
// for concurrent use.
type ledger struct {
	pieces  [][]entry
	counts  Counts
	skipped uint64
	tokens  [][]logged // in the order in which they were sent
	logged  int
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

// at is the entry of request n; nil: it has none.
func (l *ledger) at(n int) *entry {
	if n < 0 {
		return nil
	}
	return &l.pieces[n/pieceSize][n%pieceSize]
}

// close notes that request n came to its outcome, that much after its end.
func (l *ledger) close(n int, o Outcome, late time.Duration) {
	l.released(n, late)
	l.ended(n, o)
}

// begun notes when a server took request n.
func (l *ledger) begun(n int, start time.Duration) {
	if e := l.at(n); e != nil {
		e.start = start
	}
}

// released notes by how much the answer to request n began after its end.
func (l *ledger) released(n int, late time.Duration) {
	if e := l.at(n); e != nil {
		e.late = uint32(min(max(late, 0), unreleased-1))
	}
}

// ended notes that request n came to its outcome.
func (l *ledger) ended(n int, o Outcome) {
	l.counts.Unfinished--
	l.counts.add(o)
	if e := l.at(n); e != nil {
		e.outcome = o
	}
}

// token notes a token of request n.
func (l *ledger) token(n int, due, sent time.Duration) {
	if n < 0 || l.logged == maxLogged {
		return
	}
	if l.logged%pieceSize == 0 {
		l.tokens = append(l.tokens, make([]logged, 0, pieceSize))
	}
	l.logged++
	p := &l.tokens[len(l.tokens)-1]
	*p = append(*p, logged{uint32(n), due, sent})
}

// streams are the tokens of each request.
func (l *ledger) streams() []Stream {
	ss := make([]Stream, l.counts.Requests-l.skipped)
	for i := range ss {
		ss[i] = Stream{Prompt: int(l.at(i).prompt), Due: []time.Duration{}, Sent: []time.Duration{}}
	}
	for _, p := range l.tokens {
		for _, t := range p {
			s := &ss[t.record]
			s.Due, s.Sent = append(s.Due, t.due), append(s.Sent, t.sent)
		}
	}
	return ss
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

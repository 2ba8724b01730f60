package replay

import (
	"sync"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// ledgerSize is how many operations the ledger remembers: 13 s at 10k/s, and about 20 MB when full. An
// operation that takes longer has no row.
const ledgerSize = 1 << 17

// ledger remembers the request of an operation until its sample comes, which has only the number of
// the operation.
type ledger struct {
	mu      sync.Mutex
	entries []entry
}

// entry is what rows and comparisons need to know of an operation.
type entry struct {
	seq      uint64
	open     bool
	method   [16]byte // a longer method is cut off
	uri      []byte
	status   int // recorded; 0: unknown
	expected int
	latency  int64 // recorded, ns; trace.Unknown: the log does not say
	body     int64 // bytes of the request's body
	answer   int64 // bytes of the answer's body
	file     string
	line     int
}

func newLedger() *ledger { return &ledger{entries: make([]entry, ledgerSize)} }

// note opens the entry of op, the n-th operation of this machine. body is the size of its body.
func (l *ledger) note(n uint64, op *takt.Op, body int64) {
	rec := op.Data.(*trace.Record)
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.entries[n%ledgerSize]
	*e = entry{
		seq: op.Seq, open: true, uri: append(e.uri[:0], rec.URI...), status: rec.Status, expected: rec.Expected,
		latency: int64(rec.Latency), body: body, file: rec.File, line: rec.Line,
	}
	copy(e.method[:], rec.Method)
}

// answered notes the size of an answer's body.
func (l *ledger) answered(n, seq uint64, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := &l.entries[n%ledgerSize]; e.open && e.seq == seq {
		e.answer = bytes
	}
}

// take closes an entry and moves it into out. false: a later operation has overwritten it.
func (l *ledger) take(n, seq uint64, out *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.entries[n%ledgerSize]
	if !e.open || e.seq != seq {
		return false
	}
	*e, *out = *out, *e
	e.open = false
	return true
}

// name is the method without padding.
func (e *entry) name() []byte {
	n := 0
	for n < len(e.method) && e.method[n] != 0 {
		n++
	}
	return e.method[:n]
}

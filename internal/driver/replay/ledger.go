package replay

import (
	"sync"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// ledgerSize is how many operations back the ledger knows: at 10k/s 13 s, in about
// 20 MB once that many have passed. What takes longer has no row.
const ledgerSize = 1 << 17

// ledger keeps what an operation asked for until its row comes, which has but the
// number of the operation.
type ledger struct {
	mu      sync.Mutex
	entries []entry
}

// entry is what has to be known of an operation.
type entry struct {
	seq      uint64
	open     bool
	method   [16]byte // cut there: methods are shorter
	uri      []byte
	status   int // recorded; 0: not known
	expected int
	latency  int64 // recorded, ns; Unknown
	body     int64 // bytes of the request's
	answer   int64 // bytes of the answer's body
	file     string
	line     int
}

func newLedger() *ledger { return &ledger{entries: make([]entry, ledgerSize)} }

// note opens the entry of op, the n-th of this machine, with a body of so many bytes.
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

// answered notes the length of an answer's body.
func (l *ledger) answered(n, seq uint64, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := &l.entries[n%ledgerSize]; e.open && e.seq == seq {
		e.answer = bytes
	}
}

// take closes an entry and moves it into out; false: it was overwritten by a later one.
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

// name is the method.
func (e *entry) name() []byte {
	n := 0
	for n < len(e.method) && e.method[n] != 0 {
		n++
	}
	return e.method[:n]
}

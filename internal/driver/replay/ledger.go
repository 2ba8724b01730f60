package replay

import (
	"sort"
	"sync"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// ledgerSize is how many operations the ledger remembers: 13 s at 10k/s, and about 20 MB when full. An
// operation that takes longer has no row.
const ledgerSize = 1 << 17

// ledger remembers the request of an operation until its sample comes, which has only the number of
// the operation. The numbers rise, with gaps where other shards send.
type ledger struct {
	mu      sync.Mutex
	entries []entry // a ring: the n-th operation of this machine is at n modulo its length
	noted   uint64  // number of operations so far
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

// note opens the entry of op. body is the size of its body.
func (l *ledger) note(op *takt.Op, body int64) {
	rec := op.Data.(*trace.Record)
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.entries[l.noted%ledgerSize]
	l.noted++
	*e = entry{
		seq: op.Seq, open: true, uri: append(e.uri[:0], rec.URI...), status: rec.Status, expected: rec.Expected,
		latency: int64(rec.Latency), body: body, file: rec.File, line: rec.Line,
	}
	copy(e.method[:], rec.Method)
}

// find is the entry of an operation; nil: a later operation has overwritten it.
func (l *ledger) find(seq uint64) *entry {
	oldest := l.noted - min(l.noted, ledgerSize)
	n := oldest + uint64(sort.Search(int(l.noted-oldest), func(i int) bool { return l.at(oldest+uint64(i)).seq >= seq }))
	if n == l.noted || l.at(n).seq != seq {
		return nil
	}
	return l.at(n)
}

func (l *ledger) at(n uint64) *entry { return &l.entries[n%ledgerSize] }

// answered notes the size of an answer's body.
func (l *ledger) answered(seq uint64, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.find(seq); e != nil && e.open {
		e.answer = bytes
	}
}

// take closes an entry and copies it to out, whose texts live until the next call with out. false: a
// later operation has overwritten the entry, or it is closed.
func (l *ledger) take(seq uint64, out *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.find(seq)
	if e == nil || !e.open {
		return false
	}
	e.open = false
	uri := append(out.uri[:0], e.uri...)
	*out = *e
	out.open, out.uri = true, uri
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

package produce

import (
	"testing"

	"github.com/taktload/takt/internal/driver/kafka/capture"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// What waits has at most its limit, or is one record.
func TestRecordedRoom(t *testing.T) {
	r := recorded{most: 1000, waiting: map[uint64]*capture.Record{}}
	op := func(seq uint64, n int) *takt.Op {
		return &takt.Op{Seq: seq, Data: &trace.Record{Body: make([]byte, n), Status: 2}}
	}
	if !r.put(op(0, 1001)) || r.put(op(1, 1)) || r.put(op(1, 1)) {
		t.Error("a record above the limit is refused, or another one is not")
	}
	r.done(0)
	r.done(0)
	if !r.put(op(1, 500)) || !r.put(op(2, 500)) || r.put(op(3, 1)) || r.full != 2 {
		t.Errorf("%d bytes wait; no room %d times", r.bytes, r.full)
	}
	r.done(1)
	r.done(2)
	if r.bytes != 0 || len(r.waiting) != 0 {
		t.Errorf("%d bytes of %d records wait", r.bytes, len(r.waiting))
	}
}

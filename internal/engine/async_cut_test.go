package engine

import (
	"context"
	"testing"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// One operation falls due in each millisecond.
type each struct{ seq uint64 }

func (e *each) Next(op *takt.Op) bool {
	op.Seq, op.Due = e.seq, time.Duration(e.seq)*time.Millisecond
	e.seq++
	return true
}

func (*each) End() time.Duration { return time.Second }

// An operation may start between the instant of the cut and the cut itself: it has the
// age 0 then, not a negative one.
func TestCutOfAnOperationThatStartedAfterIt(t *testing.T) {
	p := Plan{Options: Defaults(), Source: &each{}}
	rec := record.New(record.Config{Shards: 1, Window: time.Second})
	a := newAsync(context.Background(), newFlow(p, rec), p)
	a.begin()
	ops := a.takeDue(7 * time.Millisecond)
	if len(ops) != 1 {
		t.Fatalf("%d operations were taken, want 1", len(ops))
	}
	a.cut(5 * time.Millisecond)
	scheduled, _ := a.counts()
	rep := rec.Report(record.End{Scheduled: scheduled, Stop: 5 * time.Millisecond})
	if rep.Counts.Unfinished != 1 || rep.Warned("clamped") {
		t.Errorf("counts %+v, warnings %v", rep.Counts, rep.Warnings)
	}
}

package engine

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// At the cut an operation that its worker has not begun was never sent, whatever the worker sent
// before. What is due and not taken had a slot if the pool could grow or a worker was idle.
func TestPoolCut(t *testing.T) {
	for name, c := range map[string]struct {
		workers int // with an operation
		idle    int
		sent    time.Duration // by the first worker
		want    takt.Counts
		free    time.Duration
	}{
		"not begun":       {1, 0, notSent, takt.Counts{Unfinished: 6}, 0},
		"sent":            {1, 0, 3 * ms, takt.Counts{Unfinished: 6, Sent: 1}, 0},
		"sent at the cut": {1, 0, 501 * ms, takt.Counts{Unfinished: 6, Sent: 1}, 0},
		"a full pool":     {2, 0, 3 * ms, takt.Counts{Unfinished: 6, Sent: 1}, 500 * ms},
		"an idle worker":  {1, 1, 3 * ms, takt.Counts{Unfinished: 6, Sent: 1}, 0},
	} {
		f := flowOf(t, tenths(), 0)
		p := newPool(t.Context(), f, machine{}, nil, Options{MaxInFlight: 2})
		if p.backlog.b.Size != 2 || p.max != 2 || p.drop || p.name() != "worker" {
			t.Errorf("a backlog of %d and %d workers, want 2", p.backlog.b.Size, p.max)
		}
		for i := range c.workers {
			w := p.newWorker()
			w.sent.Store(int64(time.Hour)) // by an operation before
			w.accept(200*ms, 0)
			if w.op.Seq != uint64(i) || w.index != i || w.free != 0 {
				t.Errorf("%s: worker %d has %+v", name, i, w.op)
			}
		}
		if c.sent != notSent {
			p.workers[0].sent.Store(int64(c.sent))
		}
		for range c.idle {
			p.idle = append(p.idle, p.newWorker())
		}
		p.cut(500 * ms)
		if f.rest.Free != c.free || f.rest.Done != 500*ms {
			t.Errorf("%s: the rest is %+v, want a slot from %v", name, f.rest, c.free)
		}
		f.countRest(100, func() {})
		rep := f.rec.Report(record.End{Stop: time.Second})
		if rep.Counts != c.want || rep.Latency["service"].Max > 498e3 {
			t.Errorf("%s: %+v, want %+v; the longest service %v µs", name, rep.Counts, c.want, rep.Latency["service"].Max)
		}
	}
}

// A worker that ends takes the next operation if it is due. It was free for it all the time unless the
// pool is full, and then only from its own end on.
func TestPoolAgain(t *testing.T) {
	for name, c := range map[string]struct {
		now  time.Duration
		max  int
		want bool
		free time.Duration
	}{
		"due":                  {150 * ms, 2, true, 0},
		"due, and it was full": {150 * ms, 1, true, 140 * ms},
		"not due":              {100*ms - 1, 1, false, 0},
	} {
		p := newPool(t.Context(), flowOf(t, tenths(), 0), machine{}, nil, Options{MaxInFlight: c.max})
		p.now = func() time.Duration { return c.now }
		w := p.newWorker()
		w.accept(0, 0)
		if got := p.again(w, 140*ms); got != c.want || w.free != c.free || (len(p.idle) == 1) == c.want || (p.busy == 1) != c.want || p.ended != 1 {
			t.Errorf("%s: again %v, free from %v, %d idle, %d in flight", name, got, w.free, len(p.idle), p.busy)
		}
		if c.want && (w.op.Seq != 1 || w.op.Due != 100*ms || w.sent.Load() != notSent || w.state.Load() != stateBusy) {
			t.Errorf("%s: %+v, sent %d, state %d", name, w.op, w.sent.Load(), w.state.Load())
		}
	}
}

// The backlog hears of operations that were sent late, and of the next one on time.
func TestPoolNotes(t *testing.T) {
	const us = time.Microsecond
	p := newPool(t.Context(), flowOf(t, tenths(), 0), machine{}, nil, Options{MaxInFlight: 100})
	p.closed = false
	for i, s := range []struct{ free, sent, want time.Duration }{
		{50 * us, 100 * us, 0}, // on time
		{150 * us, 200 * us, 150 * us},
		{50 * us, 60 * us, 50 * us}, // the next one
		{50 * us, 60 * us, 0},
	} {
		p.backlog.b = record.Backlog{Size: 1}
		frozen := record.Event{Free: 0, Sent: ms, Done: ms + 1} // makes a debt of 1 ms
		p.backlog.b.Note(&frozen)
		e := record.Event{Due: 2 * ms, Free: 2*ms + s.free, Sent: 2*ms + s.sent, Done: 4 * ms, Before: record.Slot{Service: ms}}
		if p.note(&e); e.Behind != s.want {
			t.Errorf("operation %d, sent %v late: behind for %v, want %v", i, s.sent, e.Behind, s.want)
		}
	}
	p.closed = true
	e := record.Event{Free: 150 * us, Sent: 200 * us, Done: ms}
	if p.note(&e); e.Behind != 0 {
		t.Errorf("a closed loop has a backlog of %v", e.Behind)
	}
}

package engine_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// kept collects the rows of a run.
type kept struct {
	t      *testing.T
	phases []string
	rows   []takt.Sample
	calls  int
}

func (k *kept) take(phases []string, list []takt.Sample) {
	if len(list) == 0 {
		k.t.Error("a batch is empty")
	}
	k.phases, k.rows = phases, append(k.rows, list...)
	k.calls++
}

// runRows makes a run with rows and holds the law: rows + skipped = scheduled.
func runRows(t *testing.T, p engine.Plan) (*takt.Report, *kept) {
	t.Helper()
	k := &kept{t: t}
	if p.OnSamples == nil {
		p.OnSamples = k.take
	} else {
		before := p.OnSamples
		p.OnSamples = func(phases []string, list []takt.Sample) {
			k.take(phases, list)
			before(phases, list)
		}
	}
	rep := run(t, t.Context(), p)
	skipped, ok := rep.Extra["samples_skipped"].(uint64)
	if n := uint64(len(k.rows)) + skipped; !ok || n != rep.Counts.Scheduled {
		t.Errorf("%d rows and %d skipped of %d operations", len(k.rows), skipped, rep.Counts.Scheduled)
	}
	return rep, k
}

func equalRows(t *testing.T, got, want []takt.Sample) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// One connection: an operation of the warm-up that ends after it, one that waited
// for it, one that failed, one that was cut off, and two that were never sent.
func TestSamplesAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("100/s", 50*ms, 1)
		o.Warmup = 20 * ms
		takes := []time.Duration{3300, 15000, 3300, 12700}
		p := plan(t, o, func(ctx context.Context, op *takt.Op, r *takt.Result) {
			if op.Seq >= 4 {
				<-ctx.Done()
				return
			}
			time.Sleep(takes[op.Seq] * time.Microsecond)
			r.Status, r.BytesSent, r.BytesReceived, r.Phases[1] = 200+int(op.Seq), 7, 9, ms
			if op.Seq == 3 {
				r.Class = "2xx"
			}
		})
		p.Driver.Phases = []string{"a", "b"}
		_, k := runRows(t, p)
		phases := [takt.MaxPhases]time.Duration{1: ms}
		cut := 1070 * ms // 70 ms of schedule and 1 s of drain
		equalRows(t, k.rows, []takt.Sample{
			{Seq: 2, Due: 20 * ms, Free: 25 * ms, Sent: 25 * ms, Done: 28300 * time.Microsecond, Phases: phases, Status: 202, BytesSent: 7, BytesReceived: 9},
			{Seq: 3, Due: 30 * ms, Free: 30 * ms, Sent: 30 * ms, Done: 42700 * time.Microsecond, Phases: phases, Status: 203, BytesSent: 7, BytesReceived: 9, Class: "2xx"},
			{Seq: 4, Due: 40 * ms, Free: 42700 * time.Microsecond, Sent: 42700 * time.Microsecond, Done: cut, Class: takt.ClassUnfinished},
			{Seq: 5, Due: 50 * ms, Free: cut, Sent: takt.NotSent, Done: cut, Class: takt.ClassUnfinished},
			{Seq: 6, Due: 60 * ms, Free: cut, Sent: takt.NotSent, Done: cut, Class: takt.ClassUnfinished},
		})
		if !reflect.DeepEqual(k.phases, p.Driver.Phases) {
			t.Errorf("phases %v", k.phases)
		}
	})
}

func TestSamplesOfDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("100/s", 35*ms, 1)
		o.Overflow = "drop"
		_, k := runRows(t, plan(t, o, service(25300*time.Microsecond)))
		dropped := func(seq uint64, due time.Duration) takt.Sample {
			return takt.Sample{Seq: seq, Due: due, Free: due, Sent: takt.NotSent, Done: due, Class: takt.ClassDropped}
		}
		equalRows(t, k.rows, []takt.Sample{
			dropped(1, 10*ms), dropped(2, 20*ms), // each is in the file before the first one that ended
			{Seq: 0, Done: 25300 * time.Microsecond},
			{Seq: 3, Due: 30 * ms, Free: 30 * ms, Sent: 30 * ms, Done: 55300 * time.Microsecond},
		})
	})
}

// Rows come while the run goes, 50 times a second, and each batch is in order.
func TestSamplesComeLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := plan(t, options("1000/s", time.Second, 0), service(3300*time.Microsecond))
		var last time.Duration
		p.OnSamples = func(_ []string, list []takt.Sample) {
			age := time.Since(start) - list[0].Done
			if age > 20*ms || list[0].Done < last {
				t.Errorf("a row is %v old, or after one that ended at %v: %+v", age, last, list[0])
			}
			last = list[len(list)-1].Done
		}
		_, k := runRows(t, p)
		if k.calls < 50 || len(k.rows) != 1000 {
			t.Errorf("%d rows in %d batches", len(k.rows), k.calls)
		}
		for i, row := range k.rows {
			if row.Seq != uint64(i) {
				t.Fatalf("row %d is operation %d", i, row.Seq)
			}
		}
	})
}

// A writer that stands still for the whole run costs rows, which are counted, and
// nothing else: no operation is late.
func TestSlowWriterSkipsRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, options("40000/s", time.Second, 1), func(context.Context, *takt.Op, *takt.Result) {})
		p.OnSamples = func([]string, []takt.Sample) { time.Sleep(3 * time.Second) }
		rep, k := runRows(t, p)
		if rep.Counts.OK != 40000 || rep.Latency["response"].Max > 0.001 || rep.Verdict != takt.Valid {
			t.Errorf("%s: %+v, response %+v", rep.Verdict, rep.Counts, short(rep.Latency["response"]))
		}
		said := rep.Warned("samples_skipped")
		if len(k.rows) < 10000 || len(k.rows) == 40000 || !said {
			t.Errorf("%d rows, warnings %v", len(k.rows), rep.Warnings)
		}
	})
}

// A backlog larger than all that is kept, cut off at once: nothing hurries, and
// none of its rows is missing.
func TestBacklogIsNotSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("100000/s", time.Second, 1)
		o.Drain = engine.DrainOf(ms)
		rep, k := runRows(t, plan(t, o, func(ctx context.Context, _ *takt.Op, _ *takt.Result) { <-ctx.Done() }))
		if rep.Counts.Unfinished != 100000 || len(k.rows) != 100000 || rep.Extra["samples_skipped"] != uint64(0) {
			t.Errorf("%+v, %d rows, %v", rep.Counts, len(k.rows), rep.Extra)
		}
		for i, row := range k.rows {
			if row.Seq != uint64(i) || row.Due != time.Duration(i)*10*time.Microsecond {
				t.Fatalf("row %d is %+v", i, row)
			}
		}
	})
}

// later completes each operation after 7.7 ms, but not the last one.
type later struct{ sink takt.Sink }

func (l later) start(op *takt.Op) error {
	token := op.Token
	if op.Seq < 2 {
		time.AfterFunc(7700*time.Microsecond, func() { l.sink.Done(token, &takt.Result{Status: 9}) })
	}
	return nil
}

func TestSamplesOfAsynchronousClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, options("100/s", 30*ms, 0), nil)
		p.Driver = &takt.Driver{Async: func(_ int, sink takt.Sink) (*takt.AsyncClient, error) {
			return &takt.AsyncClient{Start: later{sink}.start}, nil
		}}
		_, k := runRows(t, p)
		for i := range k.rows {
			if k.rows[i].Due == k.rows[i].Free {
				k.rows[i].Free = 0
			}
		}
		equalRows(t, k.rows, []takt.Sample{
			{Seq: 0, Done: 7700 * time.Microsecond, Status: 9},
			{Seq: 1, Due: 10 * ms, Sent: 10 * ms, Done: 17700 * time.Microsecond, Status: 9},
			// The source had no more at 20 ms, and the drain took a second from there.
			{Seq: 2, Due: 20 * ms, Sent: 20 * ms, Done: 1020 * ms, Class: takt.ClassUnfinished},
		})
	})
}

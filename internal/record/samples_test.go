package record

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Each outcome as its row has it, in the order in which the operations ended.
func TestSamples(t *testing.T) {
	r := New(Config{Shards: 3, Phases: []string{"connect"}, Warmup: 5 * ms, Window: time.Second, Samples: 10})
	res := &takt.Result{Status: 503, Class: "5xx", BytesSent: 70, BytesReceived: 900, Err: errors.New("x")}
	res.Phases[0] = 2 * ms
	for i, s := range []struct {
		e   Event
		res *takt.Result
	}{
		{Event{Seq: 1, Due: 4 * ms, Sent: 4 * ms, Done: 50 * ms}, &takt.Result{}}, // of the warm-up
		{Event{Seq: 2, Due: 5 * ms, Sent: 5 * ms, Done: 45 * ms}, &takt.Result{Status: 200}},
		{Event{Seq: 3, Due: 10 * ms, Free: 30 * ms, Sent: 31 * ms, Done: 41 * ms, Before: Slot{Service: 20 * ms}, Behind: 5 * ms}, res},
		{Event{Seq: 4, Due: 20 * ms, Outcome: Dropped}, nil},
		{Event{Seq: 5, Due: 30 * ms, Sent: 31 * ms, Done: 60 * ms, Outcome: UnfinishedSent}, nil},
		{Event{Seq: 6, Due: 40 * ms, Free: 60 * ms, Sent: 7, Done: 61 * ms, Outcome: UnfinishedQueued}, nil},
	} {
		r.Sample(i, s.e, s.res)
	}
	want := []takt.Sample{
		{Seq: 4, Due: 20 * ms, Free: 20 * ms, Sent: takt.NotSent, Done: 20 * ms, Class: "dropped"},
		{Seq: 3, Due: 10 * ms, Free: 30 * ms, Behind: 5 * ms, Sent: 31 * ms, Done: 41 * ms, Phases: res.Phases, BytesSent: 70, BytesReceived: 900, Status: 503, Class: "5xx"},
		{Seq: 2, Due: 5 * ms, Free: 5 * ms, Sent: 5 * ms, Done: 45 * ms, Status: 200},
		{Seq: 5, Due: 30 * ms, Free: 30 * ms, Sent: 31 * ms, Done: 60 * ms, Class: "unfinished"},
		{Seq: 6, Due: 40 * ms, Free: 60 * ms, Sent: takt.NotSent, Done: 61 * ms, Class: "unfinished"},
	}
	if got := r.TakeSamples(nil); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if again := r.TakeSamples(nil); len(again) > 0 {
		t.Errorf("taken twice: %+v", again)
	}
	rep := r.Report(End{Scheduled: 5, WarmupScheduled: 1})
	if n := rep.Extra["samples_skipped"]; n != uint64(0) {
		t.Errorf("samples_skipped is %v, want 0, which says that all rows are there", n)
	}
}

// A row remembers nothing of the one that was in its place before.
func TestSamplesAreNew(t *testing.T) {
	r := New(Config{Window: time.Second, Samples: 1})
	res := &takt.Result{Status: 500, Class: "5xx", BytesSent: 1, BytesReceived: 2}
	res.Phases[0] = ms
	for range 4 { // each buffer twice
		r.Sample(0, Event{Sent: 1, Done: 2}, res)
		r.TakeSamples(nil)
		r.Sample(0, Event{Due: 1, Done: 3, Outcome: UnfinishedQueued}, nil)
		want := takt.Sample{Due: 1, Free: 1, Sent: takt.NotSent, Done: 3, Class: "unfinished"}
		if got := r.TakeSamples(nil); !slices.Equal(got, []takt.Sample{want}) {
			t.Fatalf("got %+v", got)
		}
	}
}

// Up to the capacity nothing is lost; what is above it is counted, and only it.
func TestSamplesAreBounded(t *testing.T) {
	const capacity = 7
	for _, n := range []int{0, 1, capacity, capacity + 1, 3 * capacity} {
		r := New(Config{Shards: 2, Window: time.Second, Samples: capacity})
		for round := range 3 {
			for i := range n {
				r.Sample(0, Event{Seq: uint64(i), Due: ms, Sent: ms, Done: time.Duration(i) * ms}, nil)
			}
			rows := r.TakeSamples(make([]takt.Sample, 0, 2*capacity))
			for i, row := range rows {
				if row.Seq != uint64(i) {
					t.Errorf("%d: row %d is operation %d", n, i, row.Seq)
				}
			}
			if want := min(n, capacity); len(rows) != want || int(r.skipped()) != (round+1)*(n-want) {
				t.Errorf("%d, round %d: %d rows, %d skipped in all", n, round, len(rows), r.skipped())
			}
		}
		checkSkipped(t, r.Report(End{Scheduled: uint64(3 * n)}), 3*(n-min(n, capacity)), 3*n)
	}
}

func checkSkipped(t *testing.T, rep *takt.Report, skipped, scheduled int) {
	t.Helper()
	said := ""
	for _, w := range rep.Warnings {
		if w.Code == "samples_skipped" {
			said = w.Message
		}
	}
	begins := fmt.Sprintf("%d of %d operations have no row", skipped, scheduled)
	if rep.Extra["samples_skipped"] != uint64(skipped) || (said != "") != (skipped > 0) || skipped > 0 && said[:len(begins)] != begins {
		t.Errorf("extra %v, warning %q, want %q", rep.Extra, said, begins)
	}
}

// Without Samples there is no trace of rows.
func TestNoSamples(t *testing.T) {
	r := New(Config{Shards: 2, Window: time.Second})
	r.Sample(0, ended(0, 0, 0, ms), &takt.Result{})
	rep := r.Report(End{Scheduled: 1})
	if rows := r.TakeSamples(nil); len(rows) > 0 || len(rep.Extra) > 0 || len(rep.Warnings) > 0 {
		t.Errorf("%d rows, extra %v, warnings %v", len(rows), rep.Extra, rep.Warnings)
	}
}

// Whatever is taken when, each operation is a row or skipped, once.
func TestTakeSamplesUnderLoad(t *testing.T) {
	r := New(Config{Shards: 3, Window: time.Hour, Samples: 50})
	const workers, each = 4, 5000
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				at := time.Duration(i) * time.Microsecond
				e := ended(at, at, at, at+ms)
				e.Seq = uint64(w*each + i)
				r.Sample(w, e, &takt.Result{Status: w + i})
			}
		})
	}
	seen := make([]bool, workers*each)
	rows := 0
	take := func() {
		batch := r.TakeSamples(nil)
		if !slices.IsSortedFunc(batch, func(a, b takt.Sample) int { return int(a.Done - b.Done) }) {
			t.Error("a batch is not in the order of completion")
		}
		rows += len(batch)
		for _, s := range batch {
			if w, i := int(s.Seq)/each, int(s.Seq)%each; seen[s.Seq] || s.Status != w+i || s.Due != time.Duration(i)*time.Microsecond {
				t.Errorf("twice, or torn: %+v", s)
			}
			seen[s.Seq] = true
		}
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		take()
	}
	if n := rows + int(r.skipped()); n != workers*each || rows == 0 {
		t.Errorf("%d rows and %d skipped, want %d in all", rows, r.skipped(), workers*each)
	}
}

func TestSamplesDoNotAllocate(t *testing.T) {
	const capacity = 100
	r := New(Config{Shards: 2, Phases: []string{"first_byte"}, Window: time.Hour, Samples: capacity})
	res := &takt.Result{Status: 500, Class: "5xx", Err: errors.New("x")}
	r.Sample(0, ended(0, 0, 0, ms), res) // the first of a class is kept
	into := make([]takt.Sample, 0, 2*capacity)
	n := testing.AllocsPerRun(100, func() {
		for i := range 2*capacity + 20 { // some are skipped
			r.Sample(i, ended(0, 0, 0, ms), res)
		}
		into = r.TakeSamples(into[:0])
	})
	if n != 0 || len(into) != 2*capacity {
		t.Errorf("%v allocations, %d rows", n, len(into))
	}
}

// What an operation costs with and without rows, and when they are skipped. Rows
// are taken every 400 operations, as at 20k/s every 20 ms; that is not counted.
func BenchmarkSampleRows(b *testing.B) {
	for _, c := range []struct {
		name           string
		capacity, take int
	}{{"off", 0, 400}, {"on", 20000, 400}, {"full", 1, 400}} {
		b.Run(c.name, func(b *testing.B) {
			r := New(Config{Shards: 1, Window: time.Hour, Samples: c.capacity})
			into := make([]takt.Sample, 0, c.capacity)
			res := takt.Result{Status: 200, BytesSent: 70, BytesReceived: 900}
			b.ReportAllocs()
			for i := range b.N {
				at := time.Duration(i)
				r.Sample(0, ended(at, at, at+1000, at+ms), &res)
				if i%c.take == 0 {
					b.StopTimer()
					into = r.TakeSamples(into[:0])
					b.StartTimer()
				}
			}
		})
	}
}

// What taking costs per row, sorted from three shards at 20k/s.
func BenchmarkTakeSamples(b *testing.B) {
	const rows = 400
	r := New(Config{Shards: 3, Window: time.Hour, Samples: rows})
	into := make([]takt.Sample, 0, 3*rows)
	var res takt.Result
	for b.Loop() {
		b.StopTimer()
		for i := range rows {
			at := time.Duration(i) * 50 * time.Microsecond
			r.Sample(i*7%11, ended(at, at, at, at+time.Duration(i*7919%400)*time.Microsecond), &res)
		}
		b.StartTimer()
		into = r.TakeSamples(into[:0])
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/rows, "ns/row")
}

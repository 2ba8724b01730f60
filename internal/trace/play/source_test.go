package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// The engine asks its sources for more than takt.Source says.
var (
	_ engine.Feed = (*Source)(nil)
	_ engine.Feed = (*Paced)(nil)
)

// gate is a stream that somebody else fills.
type gate chan string

func (g gate) Next(rec *trace.Record) error {
	uri, ok := <-g
	if !ok {
		return io.EOF
	}
	*rec = tracetest.At(0, uri)
	return nil
}

// due describes operations: due instants and URIs.
func due(t *testing.T, src takt.Source) string {
	t.Helper()
	var parts []string
	var op takt.Op
	for src.Next(&op) {
		parts = append(parts, fmt.Sprintf("%d %v %s", op.Seq, op.Due, op.Data.(*trace.Record).URI))
		if op.Seq%2 == 0 {
			op.Data = nil // a holder may also come without memory
		}
	}
	return strings.Join(parts, ", ")
}

func TestSource(t *testing.T) {
	ended := tracetest.At(4*time.Second, "/ended")
	ended.Ended, ended.Latency = true, 2500*time.Millisecond
	records := []trace.Record{tracetest.At(time.Second, "/a"), tracetest.At(2*time.Second, "/b"), ended, tracetest.At(3*time.Second, "/c")}
	for speed, want := range map[float64]string{
		1:   "0 0s /a, 1 500ms /ended, 2 1s /b, 3 2s /c",
		2:   "0 0s /a, 1 250ms /ended, 2 500ms /b, 3 1s /c",
		0.5: "0 0s /a, 1 1s /ended, 2 2s /b, 3 4s /c",
	} {
		src := NewSource(trace.Timed(&tracetest.List{Records: records}, trace.Timing{}), speed)
		if src.End() != -1 {
			t.Error("the end is known before it is read")
		}
		if got := due(t, src); got != want {
			t.Errorf("at %v: %s, want %s", speed, got, want)
		}
		if src.End() != time.Duration(2e9/speed)+time.Duration(2e9/speed/3) || src.Err() != nil || src.EndedEarly() || src.Starved() {
			t.Errorf("%v %v %v %v", src.End(), src.Err(), src.EndedEarly(), src.Starved())
		}
	}
	src := NewSource(&tracetest.List{Records: []trace.Record{{URI: []byte("/")}}}, 1)
	if tracetest.Drain(src) != 0 || src.Err() != errNoTimes || !src.EndedEarly() {
		t.Error(src.Err())
	}
	broken := errors.New("broken")
	src = NewSource(trace.Timed(&tracetest.List{Records: records, Err: broken}, trace.Timing{}), 1)
	if tracetest.Drain(src) != 0 || src.Err() != broken || !src.EndedEarly() || src.End() != -1 { // all four wait in the window
		t.Error(src.Err(), src.End())
	}
}

// Every record comes exactly once, due instants rise, and what is within the window
// is in exact order.
func TestTimedOrders(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var records []trace.Record
	for i := range 20_000 {
		r := tracetest.At(time.Duration(i)*10*time.Millisecond, fmt.Sprint("/", i))
		r.Latency, r.Ended = time.Duration(random.Int64N(int64(20*time.Second))), true
		r.At = r.At.Add(r.Latency)
		records = append(records, r)
	}
	slices.SortStableFunc(records, func(a, b trace.Record) int { return a.At.Compare(b.At) }) // as a server writes them
	timed := trace.Timed(&tracetest.List{Records: records}, trace.Timing{})
	src := NewSource(timed, 1)
	var op takt.Op
	for i := range 20_000 {
		if !src.Next(&op) || op.Due != time.Duration(i)*10*time.Millisecond || string(op.Data.(*trace.Record).URI) != fmt.Sprint("/", i) {
			t.Fatalf("operation %d is due at %v: %s", i, op.Due, op.Data.(*trace.Record).URI)
		}
	}
	if src.Next(&op) || timed.Late().Count != 0 {
		t.Errorf("%+v", timed.Late())
	}

	timed = trace.Timed(&tracetest.List{Records: records}, trace.Timing{Window: time.Second})
	src = NewSource(timed, 1)
	n, last := 0, time.Duration(0)
	for src.Next(&op) {
		if n++; op.Due < last {
			t.Fatalf("%v after %v", op.Due, last)
		}
		last = op.Due
	}
	if late := timed.Late(); n != 20_000 || late.Count < 1000 || late.Most <= 10*time.Second || late.Most > 20*time.Second {
		t.Errorf("%d, %+v", n, late)
	}
}

// Operation n has record n, whichever shard sends it, and the log's end is the end.
func TestPaced(t *testing.T) {
	records := []trace.Record{tracetest.At(9, "/0"), tracetest.At(5, "/1"), {URI: []byte("/2")}, tracetest.At(7, "/3")}
	base := func(shard uint64) takt.Source {
		spec := schedule.Constant(10, time.Second)
		spec.Shard, spec.Shards = shard, 2
		src, err := spec.Source()
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	one, two := NewPaced(base(0), &tracetest.List{Records: records}), NewPaced(base(1), &tracetest.List{Records: records})
	if got := due(t, one); got != "0 0s /0, 2 200ms /2" || !one.EndedEarly() || one.Err() != nil || one.End() != 400*time.Millisecond {
		t.Errorf("%s, %v %v", got, one.EndedEarly(), one.Err())
	}
	if got := due(t, two); got != "1 100ms /1, 3 300ms /3" {
		t.Error(got)
	}
	twice := slices.Repeat(records, 3)
	src := NewPaced(base(0), &tracetest.List{Records: twice})
	if got := due(t, src); !strings.HasSuffix(got, "6 600ms /2, 8 800ms /0") || src.EndedEarly() {
		t.Error(got)
	}
}

// An Ahead never waits, but says so; it loses nothing.
func TestAhead(t *testing.T) {
	g := make(gate)
	a := NewAhead(g)
	defer a.Stop()
	src := NewSource(a, 1)
	var op takt.Op
	if src.Next(&op) || !src.Starved() || src.EndedEarly() || src.End() != -1 {
		t.Error("nothing was there")
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := a.Wait(ctx); err != cause {
		t.Error(err)
	}
	go func() {
		for i := range 5000 {
			g <- fmt.Sprint("/", i)
		}
		close(g)
	}()
	for range 2 {
		if err := a.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for i := 0; i < 5000; {
		if !src.Next(&op) {
			if !src.Starved() {
				t.Fatalf("ended after %d: %v", i, src.Err())
			}
			continue
		}
		if string(op.Data.(*trace.Record).URI) != fmt.Sprint("/", i) {
			t.Fatalf("%d is %s", i, op.Data.(*trace.Record).URI)
		}
		i++
	}
	for src.Next(&op) || src.Starved() {
	}
	if src.End() != time.Second || src.Err() != nil || a.Wait(t.Context()) != io.EOF {
		t.Error(src.End(), src.Err())
	}
}

// Stop ends the goroutine also when nobody takes the records: those that it has read
// are given, then comes the end.
func TestAheadStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := make(gate, aheadRecords+2)
		for range aheadRecords + 2 {
			g <- "/"
		}
		a := NewAhead(g)
		a.Stop()
		a.Stop()
		synctest.Wait()
		var rec trace.Record
		n, err := 0, error(nil)
		for ; err == nil; n++ {
			err = a.Next(&rec)
		}
		if err != io.EOF || n > aheadRecords+1 {
			t.Errorf("%v after %d records", err, n-1)
		}
	})
}

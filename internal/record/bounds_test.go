package record

import (
	"reflect"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Events are alike only if every field but the number and the step, which only rows have, is equal.
func TestAlike(t *testing.T) {
	kind := reflect.TypeFor[Event]()
	for i := range kind.NumField() {
		var events [3]Event
		switch f := reflect.ValueOf(&events[1]).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int32, reflect.Int64:
			f.SetInt(1)
		case reflect.Uint8, reflect.Uint64:
			f.SetUint(1)
		case reflect.Struct:
			f.Field(0).SetInt(1)
		}
		events[2] = events[1]
		want := 1
		if name := kind.Field(i).Name; name == "Seq" || name == "Step" {
			want = 3
		}
		if got := alike(events[:]); got != want {
			t.Errorf("%d of three events are alike if %s differs, want %d", got, kind.Field(i).Name, want)
		}
		if got := alike(events[1:]); got != 2 {
			t.Errorf("%d of two equal events are alike", got)
		}
	}
}

// No two shards ever have the same set.
func TestSwapKeepsSetsApart(t *testing.T) {
	r := New(Config{Shards: 2, Window: time.Minute})
	for swap := range 3 {
		r.Swap(Tick{At: time.Duration(swap+1) * time.Second})
		seen := map[*set]bool{r.spare: true}
		for i := range r.shards {
			seen[r.shards[i].set] = true
		}
		if len(seen) != 3 {
			t.Fatalf("after %d swaps two shards and the spare have %d sets", swap+1, len(seen))
		}
	}
}

// An interval's p99 leaves out one of a hundred.
func TestIntervalOfAHundred(t *testing.T) {
	r := New(Config{Window: time.Minute})
	for i := range uint64(100) {
		e := Event{Seq: i, Done: 1000}
		if i == 0 {
			e.Sent, e.Done = 2000, 3000
		}
		r.Sample(0, e, nil)
	}
	if iv := r.Swap(Tick{At: time.Second, Scheduled: 100}); iv.ResponseP50 != 1 || iv.ResponseP99 != 1 || iv.ResponseMax < 2.99 || iv.ScheduleLagP99 != 0.001 {
		t.Errorf("%+v", iv)
	}
}

// An entry without a neighbour goes on in the open one, which may have a single second.
func TestHistoryEndsOdd(t *testing.T) {
	h := history{old: []takt.Interval{{T: 2, OK: 3}}, open: takt.Interval{T: 3, OK: 4}, held: 1, span: 4}
	if list, span := h.all(); len(list) != 1 || list[0].T != 3 || list[0].OK != 7 || span != 4 {
		t.Errorf("%+v of %d s", list, span)
	}
}

// The generator's share of a wait is that of the connection's time, however short both are.
func TestBehindOfANanosecond(t *testing.T) {
	if got := (&Event{Free: 100, Sent: 101}).behind(); got != 100 {
		t.Errorf("the generator made the operation wait %v, want 100ns", got)
	}
}

// A replay needs one shard, no rows and no journal, whatever the run had.
func TestReplayIsSmall(t *testing.T) {
	p, err := NewReplay(Config{Shards: 5, Samples: 7, Journal: true, Scrub: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if r := p.rec; r.Shards() != 1 || r.shards[0].rows != nil || r.open != nil || r.cfg.Scrub("a") != "a" {
		t.Errorf("%d shards, rows %v, journal %v, scrubbed %q", r.Shards(), r.shards[0].rows, r.open, r.cfg.Scrub("a"))
	}
}

// The state comes before all seconds, also before one of 1 ns.
func TestReplayStateIsFirst(t *testing.T) {
	p, err := NewReplay(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if p.rec.last.At = 1; p.Before(Before{At: 2}) == nil {
		t.Error("a state after a second is accepted")
	}
}

// The times of a Backlog stay few, also if connections never have a time in common.
func TestBacklogIsBounded(t *testing.T) {
	b := Backlog{Size: 4}
	for i := range time.Duration(10_000) {
		if b.note(10*i, 10*i+5); len(b.gaps) > gapsMost || b.debt != 0 {
			t.Fatalf("%d gaps, a debt of %v", len(b.gaps), b.debt)
		}
	}
	for range 3 {
		b.note(200_000, 200_010)
	}
	if b.debt != 10 {
		t.Errorf("a debt of %v, want 10ns", b.debt)
	}
}

// A backlog was due for a step at least, one operation after the other.
func TestReplayOfAShortBacklog(t *testing.T) {
	for from, want := range map[time.Duration]float64{time.Second: 9.95e3, 990 * time.Millisecond: 9.95e3, 980 * time.Millisecond: 19.9e3} {
		p, err := NewReplay(Config{Window: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		p.last = &Second{At: time.Second, Backlog: 100, BacklogFrom: from}
		p.countOpen(p.last)
		got := p.rec.Report(End{Scheduled: 100, Stop: time.Second}).Latency[takt.LatencyResponse]
		if got.Count != 100 || got.Max < 0.999*want || got.Max > 1.001*want {
			t.Errorf("a backlog from %v: %d operations, %v µs at most, want %v", from, got.Count, got.Max, want)
		}
	}
}

// An operation that was taken and ended is open in no later second, whichever sets took turns.
func TestNothingStaysOpen(t *testing.T) {
	r := New(Config{Shards: 2, Window: time.Minute, Journal: true})
	for second := range 5 {
		at := time.Duration(second+1) * time.Second
		taken := new(Steps)
		for i := range 3 {
			due := at - time.Duration(i+1)*100*ms
			taken.Add(due, 1)
			r.Sample(i, Event{Due: due, Sent: due, Done: due + ms}, nil)
		}
		if r.Swap(Tick{At: at, Scheduled: uint64(3 * (second + 1)), Taken: taken}); len(r.open) != 0 {
			t.Errorf("after %v s %v are open", at, r.open)
		}
	}
}

// The last completion of a receiver is the latest message, in whatever order they are counted.
func TestLastReceived(t *testing.T) {
	s := newSet(&Config{})
	for _, at := range []time.Duration{3, 5, 4} {
		s.receive(at, &takt.Result{})
	}
	if s.LastDone != 5 || s.Received != 3 {
		t.Errorf("the last of %d came at %v, want 5ns", s.Received, s.LastDone)
	}
}

package target

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/internal/dist"
)

const ms = time.Millisecond

// durations are given in milliseconds.
func durations(ns ...float64) (ds []time.Duration) {
	for _, n := range ns {
		ds = append(ds, time.Duration(n*float64(ms)))
	}
	return ds
}

func TestSimulateTable(t *testing.T) {
	for _, c := range []struct {
		name              string
		due, service, end []time.Duration
		servers           int
		freezes           []Window
	}{
		{name: "nothing", end: durations()},
		{name: "serial", due: durations(0, 1, 2, 30), service: durations(5, 5, 5, 5), servers: 1, end: durations(5, 10, 15, 35)},
		{name: "two servers", due: durations(0, 1, 2, 3), service: durations(10, 2, 4, 1), servers: 2, end: durations(10, 3, 7, 8)},
		{name: "unlimited", due: durations(0, 0, 0), service: durations(3, 2, 1), end: durations(3, 2, 1)},
		{name: "freeze lengthens", due: durations(0), service: durations(15), freezes: []Window{{10 * ms, 20 * ms}}, end: durations(25)},
		{name: "just in time", due: durations(0), service: durations(10), freezes: []Window{{10 * ms, 20 * ms}}, end: durations(10)},
		{name: "arrives in freeze", due: durations(10, 12), service: durations(1, 0), freezes: []Window{{10 * ms, 20 * ms}}, end: durations(21, 20)},
		{name: "two freezes in one service", due: durations(5), service: durations(20), freezes: []Window{{10 * ms, 20 * ms}, {30 * ms, 31 * ms}}, end: durations(36)},
		{name: "adjacent freezes", due: durations(0, 15), service: durations(11, 1), servers: 1, freezes: []Window{{10 * ms, 20 * ms}, {20 * ms, 30 * ms}}, end: durations(31, 32)},
		{name: "queue behind a freeze", due: durations(0, 9, 9), service: durations(2, 2, 2), servers: 1, freezes: []Window{{10 * ms, 20 * ms}}, end: durations(2, 21, 23)},
	} {
		got := simulate(c.due, c.service, c.servers, c.freezes...)
		for i := range got {
			got[i] += c.due[i]
		}
		if !slices.Equal(got, c.end) {
			t.Errorf("%s: ends %v, want %v", c.name, got, c.end)
		}
	}
}

// With 50 servers 10 % of the requests wait for the rest of the freeze and then
// for the 50 in front of them a millisecond.
func TestSimulateTheory(t *testing.T) {
	var due, service []time.Duration
	for i := range 10_000 {
		due, service = append(due, time.Duration(i)*ms), append(service, ms)
	}
	freezes := Freeze{For: time.Second, Every: 10 * time.Second}.Windows(10 * time.Second)
	for servers, want := range map[int]time.Duration{50: 511 * ms, 2000: 502 * ms, 0: 502 * ms} {
		got := simulate(due, service, servers, freezes...)
		slices.Sort(got)
		if p95 := got[9500]; (p95 - want).Abs() > 2*ms {
			t.Errorf("%d servers: p95 %v, want %v", servers, p95, want)
		}
	}
}

// Without freezes a serial queue obeys Lindley's recursion, and a queue with a
// server for every request is the service alone.
func TestSimulateLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var due, service []time.Duration
	for at := time.Duration(0); len(due) < 1000; at += time.Duration(r.ExpFloat64() * 1e6) {
		due, service = append(due, at), append(service, time.Duration(r.ExpFloat64()*9e5))
	}
	if got := simulate(due, service, len(due)); !slices.Equal(got, service) {
		t.Error("a server for every request: the response is not the service")
	}
	var wait time.Duration
	for i, got := range simulate(due, service, 1) {
		if i > 0 {
			wait = max(0, wait+service[i-1]-(due[i]-due[i-1]))
		}
		if got != wait+service[i] {
			t.Fatalf("request %d: response %v, want %v", i, got, wait+service[i])
		}
	}
}

// A periodic freeze is the list of its windows.
func TestFreezeWindows(t *testing.T) {
	f := Freeze{For: 3 * ms, Every: 10 * ms}
	want := []Window{{7 * ms, 10 * ms}, {17 * ms, 20 * ms}, {27 * ms, 30 * ms}}
	if got := f.Windows(28 * ms); !slices.Equal(got, want) {
		t.Errorf("windows %v, want %v", got, want)
	}
	periodic, list := calendar(f.next), listed(f.Windows(time.Second))
	r := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		at, service := time.Duration(r.Int64N(int64(500*ms))), time.Duration(r.Int64N(int64(50*ms)))
		start := periodic.start(at)
		if start != list.start(at) || periodic.end(start, service) != list.end(start, service) {
			t.Fatalf("at %v for %v: periodic and listed freezes differ", at, service)
		}
	}
	if ws := (Freeze{}).Windows(time.Hour); len(ws) != 0 {
		t.Errorf("no freeze has windows %v", ws)
	}
}

func TestQueueEndsAtHorizon(t *testing.T) {
	q := newQueue(1, Freeze{For: 99 * time.Hour / 5, Every: 20 * time.Hour}.next)
	q.free.Push(horizon + time.Hour)
	if start, end := q.serve(0, dist.Max); start < horizon || end < start {
		t.Errorf("start %v, end %v", start, end)
	}
}

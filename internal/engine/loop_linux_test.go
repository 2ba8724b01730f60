package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/sock"

	"github.com/taktload/takt/pkg/takt"
)

// A run that is invalid over many connections says what bounds them; one that is valid, or
// whose connections were asked for, has nothing to be told.
func TestManyConnections(t *testing.T) {
	for _, c := range []struct {
		verdict takt.Verdict
		asked   int
		made    int
		want    bool
	}{
		{takt.Invalid, 0, blindMost + 1, true},
		{takt.Invalid, 0, blindMost, false},
		{takt.Invalid, 1000, blindMost + 1, false},
		{takt.Valid, 0, blindMost + 1, false},
	} {
		m := &loops{opt: Options{Connections: c.asked}, all: []*loop{{links: links{conns: make([]*lconn, 1)}}, {links: links{conns: make([]*lconn, c.made-1)}}}}
		rep := takt.Report{Verdict: c.verdict}
		m.advise(&rep)
		told := slices.ContainsFunc(rep.Warnings, func(w takt.Warning) bool { return w.Code == "many_connections" })
		if told != c.want || rep.Verdict != c.verdict {
			t.Errorf("%+v: %v, %v", c, rep.Warnings, rep.Verdict)
		}
	}
}

// The loop mode supports TCP, plain and with TLS.
func TestCanLoop(t *testing.T) {
	for name, c := range map[string]struct {
		l    *takt.Loop
		want bool
	}{
		"none": {nil, false}, "TCP": {&takt.Loop{Network: "tcp"}, sock.Available},
		"TLS": {&takt.Loop{Network: "tcp", TLS: new(tls.Config)}, sock.Available}, "a Unix socket": {&takt.Loop{Network: "unix"}, false},
	} {
		if got := canLoop(c.l); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// One core is left to others, and a loop has at least one connection.
func TestLoopCount(t *testing.T) {
	cores := runtime.NumCPU()
	for _, c := range []struct {
		o    Options
		want int
	}{
		{Options{Loops: 3, MaxInFlight: 50}, 3}, {Options{Loops: 3, MaxInFlight: 2}, 2}, {Options{Loops: 1, MaxInFlight: 50}, 1},
		{Options{CPUs: 1, MaxInFlight: 50}, 1}, {Options{CPUs: 2, MaxInFlight: 50}, 1}, {Options{MaxInFlight: 1}, 1},
		{Options{MaxInFlight: 1 << 20}, max(1, cores-1)}, {Options{CPUs: 1 << 20, MaxInFlight: 1 << 20}, max(1, cores-1)},
	} {
		if got := loopCount(c.o, &takt.Loop{}); got != c.want {
			t.Errorf("%d loops, %d CPUs, %d in flight: %d loops, want %d", c.o.Loops, c.o.CPUs, c.o.MaxInFlight, got, c.want)
		}
	}
	shared := &takt.Loop{Mux: func(int) takt.Mux { return nil }, MuxConns: 2}
	if got := loopCount(Options{Loops: 3, MaxInFlight: 50}, shared); got != 2 {
		t.Errorf("%d loops for 2 connections", got)
	}
}

// still is a world whose threads do not run.
type still struct {
	World
	systems int // as many can be made
	closed  []int
}

func (w *still) System() (sock.System, error) {
	if w.systems--; w.systems < 0 {
		return nil, errors.New("too many")
	}
	return nil, nil
}
func (w *still) Thread(func())                {}
func (w *still) First(...<-chan struct{}) int { return 0 }
func (w *still) Now() time.Time               { return time.Time{} }
func (w *still) Close(fd int)                 { w.closed = append(w.closed, fd) }
func (w *still) Dial(context.Context, *takt.Loop) (netip.AddrPort, int, error) {
	return netip.AddrPort{}, 7, nil
}

// The loops share the connections, and the first ones have one more.
func TestLoopsShareConnections(t *testing.T) {
	for most, want := range map[int][]int{8: {3, 3, 2}, 9: {3, 3, 3}, 10: {4, 3, 3}, 2: {1, 1}} {
		m := newLoops(newFlow(Plan{Source: &nothing{}}, record.New(record.Config{})), &still{systems: 3}, &takt.Loop{}, Options{Loops: 3, MaxInFlight: most})
		if err := m.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []int
		for i, l := range m.all {
			if got = append(got, l.max); l.index != i || l.backlog.Size != l.max {
				t.Errorf("loop %d is number %d, with a backlog of %d of %d connections", i, l.index, l.backlog.Size, l.max)
			}
		}
		if !slices.Equal(got, want) || m.first.Load() != 7 || m.cutAt.Load() >= 0 {
			t.Errorf("%d connections: %v, want %v; the probe's is %d", most, got, want, m.first.Load())
		}
	}
	m := newLoops(newFlow(Plan{Source: &nothing{}}, record.New(record.Config{})), &still{systems: 1}, &takt.Loop{}, Options{Loops: 2, MaxInFlight: 2})
	if err := m.prepare(t.Context()); err == nil || err.Error() != "cannot make the poller: too many; --engine worker does without" {
		t.Errorf("one poller for two loops: %v", err)
	}
}

// The busiest loop's share of the time is told.
func TestLoopsDescribe(t *testing.T) {
	m := &loops{names: new(addresses), all: []*loop{{rested: 9 * time.Second}, {rested: 2500 * time.Millisecond}, {rested: 5 * time.Second}}}
	var rep takt.Report
	if n, worked := m.describe(&rep, 10*time.Second); n != 3 || worked != 0.75 || rep.Generator.Loops != 3 {
		t.Errorf("%d loops, %v worked, %d told", n, worked, rep.Generator.Loops)
	}
	if _, worked := (&loops{names: new(addresses), all: []*loop{{}}}).describe(&rep, 0); worked != 1 {
		t.Errorf("a run of no length: %v", worked)
	}
}

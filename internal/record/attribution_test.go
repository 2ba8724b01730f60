package record

import (
	"math"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Each operation's response time belongs to who caused it, and the parts add up to it.
func TestParts(t *testing.T) {
	const ms = time.Millisecond
	cfg := Config{Shards: 1, Window: time.Second, Phases: []string{"dns", "connect", "tls", "first_byte", "client", "client_dial"}}
	limit := &takt.Result{Class: "too_many_files"}
	dialled := &takt.Result{Phases: [takt.MaxPhases]time.Duration{ms, 2 * ms, 3 * ms, 9 * ms, ms / 2}}
	shaken := &takt.Result{Phases: [takt.MaxPhases]time.Duration{1: 2 * ms, 2: 6 * ms, 5: 5 * ms}}
	for name, c := range map[string]struct {
		e    Event
		res  *takt.Result
		rtt  time.Duration
		want takt.Parts
	}{
		"the target's": {Event{Due: ms, Sent: ms, Done: 5 * ms}, nil, 0, takt.Parts{Target: 4}},
		"sent late":    {Event{Due: ms, Sent: 3 * ms, Done: 5 * ms}, nil, 0, takt.Parts{Late: 2, Target: 2}},
		"the target had the connection": {Event{Due: ms, Free: 4 * ms, Sent: 4 * ms, Done: 5 * ms, Before: Slot{Service: 9 * ms, Read: 4 * ms}}, nil, 0,
			takt.Parts{Queue: 3, Target: 1}},
		"behind late operations": {Event{Due: ms, Free: 4 * ms, Sent: 4 * ms, Done: 5 * ms, Before: Slot{Service: ms}, Behind: 2 * ms}, nil, 0,
			takt.Parts{Queue: 1, Late: 2, Target: 1}},
		"an unread answer": {Event{Due: ms, Free: 4 * ms, Sent: 7 * ms, Done: 8 * ms, Before: Slot{Service: ms, Read: 6 * ms}}, nil, 0,
			takt.Parts{Queue: 0.75, Unread: 2, Late: 3.25, Target: 1}}, // it held the connection for 3 of 4 ms
		"an unread answer on another connection": {Event{Due: 4 * ms, Free: 2 * ms, Sent: 7 * ms, Done: 8 * ms, Before: Slot{Service: ms, Read: 6 * ms}}, nil, 0,
			takt.Parts{Late: 3, Target: 1}},
		"a list without operations": {Event{Due: ms, Free: 4 * ms, Ready: 4 * ms, Sent: 5 * ms, Done: 6 * ms}, nil, 0,
			takt.Parts{Input: 3, Late: 1, Target: 1}},
		"a list, then the target": {Event{Due: ms, Free: 6 * ms, Ready: 4 * ms, Sent: 6 * ms, Done: 7 * ms, Before: Slot{Service: ms}, Behind: 2 * ms}, nil, 0,
			takt.Parts{Input: 3, Late: 2, Target: 1}},
		"a failure of the target":            {Event{Due: ms, Sent: ms, Done: 5 * ms}, &takt.Result{Class: "5xx"}, 0, takt.Parts{Target: 4}},
		"a limit of the host":                {Event{Due: ms, Sent: 2 * ms, Done: 5 * ms}, limit, 0, takt.Parts{Late: 1, Host: 3}},
		"connecting":                         {Event{Due: ms, Sent: ms, Done: 11 * ms}, dialled, ms / 2, takt.Parts{Network: 6.5, Late: 0.5, Target: 3}},
		"a handshake that takt computed":     {Event{Due: ms, Sent: ms, Done: 11 * ms}, shaken, 0, takt.Parts{Network: 3, Late: 5, Target: 2}},
		"takt's part of another's handshake": {Event{Due: ms, Sent: ms, Done: 11 * ms}, &takt.Result{Phases: [takt.MaxPhases]time.Duration{5: 4 * ms}}, 0, takt.Parts{Late: 4, Target: 6}},
		"a wait for connections that are being made": {Event{Due: ms, Free: 9 * ms, Sent: 10 * ms, Done: 11 * ms, Before: Slot{Service: 4 * ms, Own: ms}, Dialling: true}, nil, 0,
			takt.Parts{Network: 6, Late: 3, Target: 1}},
		"a connection that was not made in time": {Event{Due: ms, Sent: ms, Done: 9 * ms, Outcome: UnfinishedSent}, shaken, 0, takt.Parts{Network: 3, Late: 5}},
		"never sent, for connections that are being made": {Event{Due: ms, Free: 9 * ms, Done: 9 * ms, Before: Slot{Service: 4 * ms, Own: ms}, Dialling: true, Outcome: UnfinishedQueued}, nil, 0,
			takt.Parts{Network: 6, Late: 2}},
		"behind a handshake that takt computed":               {Event{Due: ms, Free: 5 * ms, Sent: 5 * ms, Done: 6 * ms, Before: Slot{Service: 4 * ms, Own: 3 * ms}}, nil, 0, takt.Parts{Late: 3, Queue: 1, Target: 1}},
		"behind a handshake that cost a third":                {Event{Due: ms, Free: 5 * ms, Sent: 5 * ms, Done: 6 * ms, Before: Slot{Service: 3 * ms, Own: ms}}, nil, 0, takt.Parts{Queue: 4, Target: 1}},
		"faster than a round trip":                            {Event{Due: ms, Sent: ms, Done: 2 * ms}, nil, 5 * ms, takt.Parts{Network: 1}},
		"unfinished":                                          {Event{Due: ms, Sent: ms, Done: 9 * ms, Outcome: UnfinishedSent}, nil, 0, takt.Parts{Target: 8}},
		"never sent, and the target had all connections":      {Event{Due: ms, Free: 9 * ms, Done: 9 * ms, Outcome: UnfinishedQueued}, nil, 0, takt.Parts{Queue: 8}},
		"never sent, and a connection came free at half time": {Event{Due: ms, Free: 6 * ms, Done: 9 * ms, Outcome: UnfinishedQueued}, nil, 0, takt.Parts{Queue: 5, Late: 3}},
		"never sent, and a connection was free":               {Event{Due: ms, Done: 9 * ms, Outcome: UnfinishedQueued}, nil, 0, takt.Parts{Late: 8}},
	} {
		r := New(cfg)
		r.Sample(0, c.e, c.res)
		a := r.Report(End{Scheduled: 1, RTT: c.rtt}).Attribution
		if got := a.Whole(); !near(got, c.want) {
			t.Errorf("%s: %+v s, want %+v ms", name, got, c.want)
		}
		if response := (c.e.Done - c.e.Due).Seconds(); len(a.Slices) != 1 || math.Abs(a.Whole().Total()-response) > 1e-9 || a.Slices[0].Below*1e-6 <= response || a.Slices[0].Below*1e-6 > 2*response {
			t.Errorf("%s: %+v of %v s", name, a, response)
		}
		onTime, felt := r.Report(End{Scheduled: 1}).Latency[takt.LatencyOnTime], a.Whole()
		if want := 1e6 * (felt.Total() - felt.Late - felt.Unread); onTime.Count != 1 || math.Abs(onTime.Max-want) > 0.001*want+0.001 {
			t.Errorf("%s: %v µs without lateness, want %v", name, onTime.Max, want)
		}
		if a.RTT != float64(c.rtt)/1e3 {
			t.Errorf("%s: a round trip of %v µs, want %v", name, a.RTT, c.rtt)
		}
	}
}

func near(s, ms takt.Parts) bool {
	d := takt.Parts{
		Late: s.Late - ms.Late/1e3, Unread: s.Unread - ms.Unread/1e3, Input: s.Input - ms.Input/1e3, Host: s.Host - ms.Host/1e3,
		Queue: s.Queue - ms.Queue/1e3, Network: s.Network - ms.Network/1e3, Target: s.Target - ms.Target/1e3,
	}
	for _, v := range []float64{d.Late, d.Unread, d.Input, d.Host, d.Queue, d.Network, d.Target} {
		if math.Abs(v) > 1e-15 {
			return false
		}
	}
	return true
}

// A generator that stands still for 100 ms, with ten connections, makes what is due then wait:
// the first ten are late, and the others wait for connections. All of that is the generator's,
// and the run is invalid although only ten of a thousand were sent late.
func TestBehindAStandstill(t *testing.T) {
	const ms = time.Millisecond
	r := New(Config{Shards: 1, Window: time.Second})
	var slots [10]Slot
	backlog := Backlog{Size: 10}
	var free [10]time.Duration
	for i := range time.Duration(1000) {
		due, slot := i*ms, i%10
		sent := max(due, free[slot])
		if sent < 400*ms && sent >= 300*ms {
			sent = 400 * ms
		}
		e := Event{Due: due, Sent: sent, Done: sent + 2*ms, Before: slots[slot]}
		if free[slot] > due {
			e.Free = free[slot]
		}
		backlog.Note(&e)
		r.Sample(0, e, nil)
		slots[slot], free[slot] = e.After(0), e.Done
	}
	rep := r.Report(End{Scheduled: 1000})
	p := rep.Attribution.Whole()
	if p.Queue > 0.01*p.Total() || math.Abs(p.Target-2) > 1e-6 {
		t.Errorf("%+v", p)
	}
	if rep.Verdict != takt.Invalid || !rep.Warned("generator_backlog") || rep.Warned("generator_bottleneck") {
		t.Errorf("%s, %+v", rep.Verdict, rep.Warnings)
	}
}

// Ten connections whose making takes 50 ms: what is due then waits for connections. All of that is whose
// computing the making was, also for the operations behind the first ten.
func TestBehindHandshakes(t *testing.T) {
	const ms = time.Millisecond
	for _, own := range []time.Duration{49 * ms, 10 * ms} {
		r := New(Config{Shards: 1, Window: time.Second})
		var slots [10]Slot
		backlog := Backlog{Size: 10}
		var free [10]time.Duration
		for i := range time.Duration(1000) {
			due, slot := i*ms, i%10
			sent := max(due, free[slot])
			e := Event{Due: due, Sent: sent, Done: sent + 2*ms, Before: slots[slot]}
			mine := time.Duration(0)
			if i < 10 {
				e.Done, mine = sent+52*ms, own
			}
			if free[slot] > due {
				e.Free = free[slot]
			}
			backlog.Note(&e)
			r.Sample(0, e, nil)
			slots[slot], free[slot] = e.After(mine), e.Done
		}
		p := r.Report(End{Scheduled: 1000}).Attribution.Whole()
		if share := p.Queue / (p.Queue + p.Late); (own > 40*ms) != (share < 0.1) || (own < 40*ms) != (share > 0.9) {
			t.Errorf("%v of takt's computing: %.0f %% of the waits are the target's: %+v", own, 100*share, p)
		}
	}
}

// A busy target answers later when it gets its requests sooner: short gaps between an answer
// and the next request delay nothing.
func TestBehindABusyTarget(t *testing.T) {
	const us = time.Microsecond
	r := New(Config{Shards: 1, Window: time.Second})
	var slot Slot
	var free time.Duration
	backlog := Backlog{Size: 10}
	for i := range time.Duration(1000) {
		e := Event{Due: i * 500 * us, Free: free, Sent: max(i*500*us, free) + 50*us, Before: slot}
		e.Done = e.Sent + 1000*us
		backlog.Note(&e)
		r.Sample(0, e, nil)
		slot, free = e.After(0), e.Done
	}
	rep := r.Report(End{Scheduled: 1000})
	if p := rep.Attribution.Whole(); p.Generator() > 0.001*p.Total() {
		t.Errorf("%+v", p)
	}
	if rep.Warned("generator_backlog") {
		t.Errorf("%+v", rep.Warnings)
	}
}

// After a freeze of the target, a client that uses its connections for a third of the time works off what
// waited. Only what waited behind late operations is a backlog.
func TestBehindAThaw(t *testing.T) {
	const ms = time.Millisecond
	r := New(Config{Shards: 1, Window: time.Second})
	for range 100 {
		r.Sample(0, Event{Free: 100 * ms, Sent: 101 * ms, Done: 103 * ms, Before: Slot{Service: 2 * ms}, Behind: ms}, nil)
	}
	rep := r.Report(End{Scheduled: 100})
	if p := rep.Attribution.Whole(); p.Generator() < 0.3*p.Total() {
		t.Errorf("the generator's use of connections is missing: %+v", p)
	}
	if n := r.total.Behind.Above(3 * ms); n > 0 || rep.Warned("generator_backlog") {
		t.Errorf("%d operations are called a backlog, %+v", n, rep.Warnings)
	}
}

// Every response time has a slice.
func TestSlices(t *testing.T) {
	for response, want := range map[time.Duration]int{-1: 0, 0: 0, 999: 0, 1000: 1, 1999: 1, 2000: 2, math.MaxInt64: sliceCount - 1} {
		if got := sliceOf(response); got != want {
			t.Errorf("%v: slice %d, want %d", response, got, want)
		}
	}
}

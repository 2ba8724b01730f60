package apmserver

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// world is what truly became of the events of a trial, and the counters that a server shows of
// them.
type world struct {
	sent, accepted, dropped, filtered, queued float64
	indexed                                   float64
	before, after                             Counters
}

// honest is a world of a random size in which every event is somewhere. Events may be rejected,
// dropped, filtered or still queued.
func honest(random *rand.Rand) *world {
	w := &world{sent: float64(2000 + random.IntN(1e6))}
	part := func(of float64) float64 { // half of the time none
		if random.IntN(2) == 0 {
			return 0
		}
		return float64(1 + random.IntN(int(of/10)))
	}
	w.accepted = w.sent - part(w.sent)
	w.dropped, w.filtered, w.queued = part(w.accepted), part(w.accepted), part(w.accepted)
	w.indexed = w.accepted - w.dropped - w.filtered - w.queued
	offset := func() float64 { return float64(random.IntN(1e6)) }
	w.before = Counters{
		"apm-server.processor.stream.accepted": offset(), "libbeat.output.events.acked": offset(), "libbeat.output.events.dropped": offset(),
		"libbeat.pipeline.events.filtered": offset(), "libbeat.pipeline.events.active": 0, uptime: offset(),
	}
	w.after = Counters{"libbeat.pipeline.events.active": w.queued, uptime: w.before[uptime] + 1000}
	for name, n := range map[string]float64{
		"apm-server.processor.stream.accepted": w.accepted, "libbeat.output.events.acked": w.indexed, "libbeat.output.events.dropped": w.dropped,
		"libbeat.pipeline.events.filtered": w.filtered,
	} {
		w.after[name] = w.before[name] + n
	}
	return w
}

// warnings are the codes of the warnings about the world. As in a trial, the wait for pending
// events ends with them pending.
func (w *world) warnings() (codes []takt.WarningCode) {
	load := &takt.Report{Counts: takt.Counts{OK: 1}, Status: map[string]uint64{"202": 1}, Extra: map[string]any{"events": w.sent, "events_accepted": w.accepted}}
	d := drained{account: accountOf(load)}
	d.tell(w.before, w.after)
	d.counted, d.indexed = true, w.indexed
	d.gaveUp = d.pending() > 0
	r := &takt.Report{}
	d.warn(r, "")
	for _, one := range r.Warnings {
		codes = append(codes, one.Code)
	}
	return codes
}

// expected are the warnings of an honest world.
func (w *world) expected() (codes []takt.WarningCode) {
	if w.dropped > 0 {
		codes = append(codes, warn.EventsDropped)
	}
	if w.queued > 0 {
		codes = append(codes, warn.NotDrained)
	}
	return codes
}

// An honest server has no further warning, and each line of the account adds up. Each lie is a
// warning, whatever became of the other events.
func TestConservation(t *testing.T) {
	const intake, acked = "apm-server.processor.stream.accepted", "libbeat.output.events.acked"
	lies := map[string]struct {
		tell func(w *world, n float64)
		code takt.WarningCode // one that honest worlds lack, or have with other events
	}{
		"accepts more than was sent":       {func(w *world, n float64) { w.accepted = w.sent + n }, warn.AccountContradicts},
		"counts less than it accepts":      {func(w *world, n float64) { w.after[intake] -= n }, warn.EventsNotCounted},
		"acknowledges less":                {func(w *world, n float64) { w.after[acked] -= n }, warn.NotDrained},
		"acknowledges what is not indexed": {func(w *world, n float64) { w.indexed -= n }, warn.DocumentsMissing},
		"indexes twice":                    {func(w *world, n float64) { w.indexed += w.accepted }, warn.DocumentsSurplus},
		"doubles": {func(w *world, n float64) {
			for name := range w.after {
				w.after[name] += w.after[name] - w.before[name]
			}
		}, warn.EventsOfOthers},
		"acknowledges twice": {func(w *world, n float64) { w.after[acked] += w.accepted }, warn.EventsOfOthers},
		"drops what it acknowledged": {func(w *world, n float64) {
			w.after["libbeat.output.events.dropped"] += n
		}, warn.EventsDropped},
		"restarts": {func(w *world, n float64) {
			w.after = Counters{intake: 0, acked: 0, "libbeat.output.events.dropped": 0, "libbeat.pipeline.events.active": 0, uptime: 5}
		}, warn.ServerRestarted},
		"restarts and counts on": {func(w *world, n float64) { w.after[uptime] = w.before[uptime] - 1 }, warn.ServerRestarted},
	}
	random := rand.New(rand.NewPCG(7, 11))
	for range 300 {
		w := honest(random)
		if got := w.warnings(); !slices.Equal(got, w.expected()) {
			t.Fatalf("%+v: %v, want %v", w, got, w.expected())
		}
	}
	for name, lie := range lies {
		for range 300 {
			w := honest(random)
			w.before[uptime]++ // so that less is not below 0
			lie.tell(w, float64(1+random.IntN(1000)))
			if got := w.warnings(); !slices.Contains(got, lie.code) {
				t.Fatalf("%s: %+v: %v, not %s", name, w, got, lie.code)
			}
		}
	}
}

// Events that are rejected, and requests without an answer, are lines of the account.
func TestAccountOfTheRejected(t *testing.T) {
	r := &takt.Report{Counts: takt.Counts{OK: 9, Failed: 1}, Status: map[string]uint64{"202": 9, "503": 1}, Extra: map[string]any{"events": 100.0, "events_accepted": 95.0}}
	line := func() string { return accountLine(map[string]any{extraAccount: accountOf(r).extra()}) }
	if got, want := line(), "events: 100 sent, 95 accepted, 5 rejected"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.Counts.Unfinished = 2
	if got, want := line(), "events: 100 sent, 95 accepted; the fate of 2 requests without an answer is unknown"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A server that traces itself counts its own events: there is nothing to warn of.
func TestOwnTraces(t *testing.T) {
	if !tracesItself([]string{"-E", "apm-server.tracing.enabled=true"}) || tracesItself([]string{"-E", "apm-server.tracing.enabled=false"}) {
		t.Error("the setting is not read")
	}
	a := account{known: true, told: true, accepted: 1000, acked: 3000}
	for _, a.traces = range []bool{false, true} {
		r := &takt.Report{}
		a.warnOfCounters(r)
		if r.Warned(warn.EventsOfOthers) == a.traces {
			t.Errorf("traces %v: %v", a.traces, r.Warnings)
		}
	}
}

// Without counters because of a restart, the warnings do not say that the server shows none.
func TestLostByARestart(t *testing.T) {
	r := &takt.Report{}
	d := drained{account: account{known: true, accepted: 1000, counted: true, indexed: 400, restarted: true}, gaveUp: true}
	d.warn(r, "")
	if len(r.Warnings) != 2 || !r.Warned(warn.ServerRestarted) || !strings.HasPrefix(r.Warnings[0].Message, "after 0 s 600 of 1000 accepted events were no documents; apm-server restarted, so nobody knows") {
		t.Errorf("%+v", r.Warnings)
	}
}

package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/takt"
)

// A pacer that is ready only after the instant begins late, and so are its operations:
// they are due from that instant on all the same.
func TestStartAtIsTheOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("10/s", time.Second, 0)
		at := time.Now().Add(time.Minute)
		o.StartAt = engine.StartAt(at)
		var sent []time.Duration
		p := plan(t, o, func(context.Context, *takt.Op, *takt.Result) { sent = append(sent, time.Since(at)) })
		p.NewWaiter = func(start time.Time) pace.Waiter {
			time.Sleep(35 * ms) // 20 of them before the instant
			return pace.Timer(start)
		}
		rep := run(t, t.Context(), p)
		if !rep.StartedAt.Equal(at) {
			t.Errorf("started at %v, want %v", rep.StartedAt, at)
		}
		if len(sent) != 10 || sent[0] != 15*ms || sent[1] != 100*ms || sent[9] != 900*ms {
			t.Errorf("sent at %v", sent)
		}
		if lag := rep.Latency["schedule_lag"]; lag.Max < 15e3 || lag.Max > 15.1e3 {
			t.Errorf("schedule lag up to %v µs, want 15 ms", lag.Max)
		}
	})
}

// A closed loop sends at once, so it begins at the instant, and not before.
func TestStartAtOfAClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("max", 0, 1)
		at := time.Now().Add(time.Minute)
		o.Requests, o.StartAt = 10, engine.StartAt(at)
		first := time.Duration(-1)
		rep := run(t, t.Context(), plan(t, o, func(context.Context, *takt.Op, *takt.Result) {
			if first < 0 {
				first = time.Since(at)
			}
			time.Sleep(10 * ms)
		}))
		if first != 0 || !rep.StartedAt.Equal(at) || rep.Counts.OK != 10 {
			t.Errorf("the first was sent at %v, of %+v", first, rep.Counts)
		}
	})
}

// Signals end a run also while it waits, and in the 20 ms in which it is ready.
func TestSignalBeforeStartAt(t *testing.T) {
	for _, early := range []time.Duration{30 * ms, 10 * ms} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			o := options("10/s", time.Minute, 0)
			at := time.Now().Add(time.Minute)
			o.StartAt = engine.StartAt(at)
			p, abort := plan(t, o, service(time.Hour)), make(chan struct{})
			p.Abort = abort
			time.AfterFunc(time.Minute-early, func() {
				stop()
				close(abort)
			})
			rep := run(t, ctx, p)
			if late := time.Since(at); late > 0 || rep.DurationS != 0 || rep.Counts != (takt.Counts{}) || rep.Verdict != takt.Valid {
				t.Errorf("%v before the instant: over %v after it, %v s with %+v", early, late, rep.DurationS, rep.Counts)
			}
		})
	}
}

// An instant that is over is refused, and so is one that passes while takt connects: then
// nothing is sent.
func TestStartAtIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		ahead, probe time.Duration
		want         string
	}{
		"over": {-1500 * ms, 0, "--start-at 1999-12-31T23:59:58.5Z was 1.5s ago by this host's clock; give all shards one later instant, and let NTP keep their clocks"},
		"slow": {time.Second, 1010 * ms, "--start-at 2000-01-01T00:00:01Z was 10ms ago by this host's clock, when takt had connected; give all shards one later instant, and let NTP keep their clocks"},
		"now":  {0, 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := options("10/s", time.Second, 0)
			o.StartAt = engine.StartAt(time.Now().Add(c.ahead))
			sent := false
			p := plan(t, o, func(context.Context, *takt.Op, *takt.Result) { sent = true })
			p.Driver.Probe = func(context.Context) error { time.Sleep(c.probe); return nil }
			_, err := engine.Run(t.Context(), p)
			if c.want == "" {
				if err != nil || !sent {
					t.Errorf("%s: %v", name, err)
				}
				return
			}
			if passed := (*engine.StartPassedError)(nil); !errors.As(err, &passed) || err.Error() != c.want || sent {
				t.Errorf("%s: %v, sent %v\nwant %s", name, err, sent, c.want)
			}
		})
	}
}

// begun is what a run of some mode did: when it was told to start, and what it sent or received.
type begun struct {
	started time.Time // zero: the mode tells no instant
	first   time.Time // of what was sent or received
	dues    []time.Duration
}

func (b *begun) note(due time.Duration) {
	if b.dues == nil {
		b.first = time.Now()
	}
	b.dues = append(b.dues, due)
}

// startModes are drivers of all modes but the loop mode, which modes_linux_test.go has, in open and in
// closed loop.
func startModes() map[string]struct {
	rate   string
	driver func(b *begun) *takt.Driver
} {
	worker := func(b *begun) *takt.Driver {
		return &takt.Driver{Worker: func(int) (takt.Worker, error) {
			return fake{func(_ context.Context, op *takt.Op, _ *takt.Result) {
				b.note(op.Due)
				time.Sleep(10 * ms)
			}}, nil
		}}
	}
	async := func(b *begun) *takt.Driver {
		return &takt.Driver{Async: func(_ int, s takt.Sink) (*takt.AsyncClient, error) {
			c := &lateClient{sink: s, answer: answers(10*ms, 0)}
			return &takt.AsyncClient{
				Started: func(at time.Time) { b.started = at },
				Start: func(op *takt.Op) error {
					b.note(op.Due)
					return c.start(op)
				},
				Close: func() error { c.open.Wait(); return nil },
			}, nil
		}}
	}
	receive := func(b *begun) *takt.Driver {
		return &takt.Driver{Receive: func(ctx context.Context, sink takt.Sink) error {
			b.note(0)
			for ctx.Err() == nil {
				time.Sleep(70 * ms)
				sink.Received(make([]takt.Result, 1))
			}
			return nil
		}}
	}
	return map[string]struct {
		rate   string
		driver func(b *begun) *takt.Driver
	}{
		"worker": {"10/s", worker}, "worker, closed": {"max", worker},
		"async": {"10/s", async}, "async, closed": {"max", async},
		"receive": {"max", receive},
	}
}

// In every mode the schedule counts from the common instant: not from when the process woke, which
// is 15 ms later here, nor from when it had connected.
func TestStartAtInEveryMode(t *testing.T) {
	for name, mode := range startModes() {
		synctest.Test(t, func(t *testing.T) {
			o := options(mode.rate, time.Second, 1)
			at := time.Now().Add(time.Minute)
			o.StartAt = engine.StartAt(at)
			p, b := plan(t, o, nil), &begun{}
			p.Driver = mode.driver(b)
			p.Driver.Probe = func(context.Context) error { time.Sleep(3 * time.Second); return nil }
			late := time.Duration(0)
			if mode.rate != "max" {
				late = 15 * ms
				p.NewWaiter = func(start time.Time) pace.Waiter {
					time.Sleep(at.Add(late).Sub(time.Now()))
					return pace.Timer(start)
				}
			}
			rep := run(t, t.Context(), p)
			if !rep.StartedAt.Equal(at) || rep.DurationS != 1 || b.first.Sub(at) != late {
				t.Errorf("%s: started %v after the instant, ran %v s, first operation %v after it", name, rep.StartedAt.Sub(at), rep.DurationS, b.first.Sub(at))
			}
			if !b.started.IsZero() && !b.started.Equal(at) {
				t.Errorf("%s: the driver was told a start %v after the instant", name, b.started.Sub(at))
			}
			if mode.rate == "max" {
				return
			}
			for i, due := range b.dues {
				if due != time.Duration(i)*100*ms {
					t.Errorf("%s: operation %d was due at %v", name, i, due)
				}
			}
			if wait := rep.Latency[takt.LatencySendDelay]; len(b.dues) != 10 || wait.Max < 15e3 || wait.Max > 15.1e3 {
				t.Errorf("%s: %d operations, sent up to %v µs after they were due, want 15 ms", name, len(b.dues), wait.Max)
			}
		})
	}
}

// In every mode a signal before the instant ends the run without any load.
func TestSignalBeforeStartAtInEveryMode(t *testing.T) {
	for name, mode := range startModes() {
		synctest.Test(t, func(t *testing.T) {
			o := options(mode.rate, time.Second, 1)
			o.StartAt = engine.StartAt(time.Now().Add(time.Minute))
			p, b := plan(t, o, nil), &begun{}
			p.Driver = mode.driver(b)
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
			defer stop()
			rep := run(t, ctx, p)
			if b.dues != nil || !b.started.IsZero() || rep.Counts.Scheduled != 0 {
				t.Errorf("%s: %d operations, started %v, %+v", name, len(b.dues), b.started, rep.Counts)
			}
		})
	}
}

// In every mode an instant that passed before takt had connected is refused before any load.
func TestStartAtIsOverInEveryMode(t *testing.T) {
	for name, mode := range startModes() {
		for _, probe := range []time.Duration{0, 1010 * ms} {
			synctest.Test(t, func(t *testing.T) {
				o := options(mode.rate, time.Second, 1)
				o.StartAt = engine.StartAt(time.Now().Add(time.Second - ms/2))
				if probe == 0 {
					o.StartAt = engine.StartAt(time.Now().Add(-ms))
				}
				p, b := plan(t, o, nil), &begun{}
				p.Driver = mode.driver(b)
				probed := false
				p.Driver.Probe = func(context.Context) error { probed = true; time.Sleep(probe); return nil }
				_, err := engine.Run(t.Context(), p)
				if passed := (*engine.StartPassedError)(nil); !errors.As(err, &passed) || probed != (probe > 0) {
					t.Errorf("%s: %v; it connected: %v", name, err, probed)
				}
				if b.dues != nil || !b.started.IsZero() {
					t.Errorf("%s: %d operations, started %v", name, len(b.dues), b.started)
				}
			})
		}
	}
}

// Who follows a run learns its start as soon as it is known: before the wait for an instant that lies ahead,
// and of a start at once the instant from which the schedule counts.
func TestStartIsAnnounced(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			o := options("100/s", time.Second, 0)
			if ahead > 0 {
				o.StartAt = engine.StartAt(begun.Add(ahead))
			}
			p := plan(t, o, service(time.Millisecond))
			var told []time.Time
			p.OnStart = func(at time.Time) {
				told = append(told, at)
				if !time.Now().Equal(begun) {
					t.Errorf("told %v later", time.Since(begun))
				}
			}
			rep := run(t, t.Context(), p)
			if len(told) != 1 || !told[0].Equal(begun.Add(ahead)) || !rep.StartedAt.Equal(told[0]) {
				t.Errorf("told of %v, started at %v, %v after %v", told, rep.StartedAt, ahead, begun)
			}
		})
	}
}

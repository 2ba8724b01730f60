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

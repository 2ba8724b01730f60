package engine

import (
	"context"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// receiver is the mode of consumers: it sends nothing and counts arriving messages.
type receiver struct {
	*flow
	ctx    context.Context
	cancel context.CancelFunc
	plan   Plan
	now    func() time.Duration
	count  uint64
	last   time.Duration // instant of the last message; 0: no message came
	closed bool
	done   group
}

func newReceiver(ctx context.Context, f *flow, p Plan) *receiver {
	r := &receiver{flow: f, plan: p, done: group{world: p.world()}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

func (r *receiver) name() string { return "async" }

func (r *receiver) prepare(context.Context) error { return nil }

func (r *receiver) start(_ time.Time, now func() time.Duration, _ func() pace.Waiter) {
	r.now = now
	r.done.Go(func() {
		err := receive(r.ctx, r.plan.Driver, r)
		switch {
		case err != nil:
			r.breakOffFor(err)
			r.rec.CloseWindow(r.now())
		case r.ctx.Err() == nil: // the driver has read everything
			r.closeWindow(r.now())
		}
		r.finish()
	})
}

// closeWindow ends the window of a complete run at its last message, or at the instant at if
// no message came. The silence after the last message is not part of the target's rate.
func (r *receiver) closeWindow(at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last > r.warmup {
		at = r.last
	}
	r.rec.CloseWindow(at)
}

// breakOffFor notes why the driver cannot go on. The command then ends with exit code 1.
func (f *flow) breakOffFor(err error) {
	f.rec.Note(warn.BrokeOff, "the run ended before its time: %v", err)
}

// receive runs the driver's receiver until it ends or ctx does.
func receive(ctx context.Context, d *takt.Driver, sink takt.Sink) error {
	if ctx.Err() != nil {
		return nil
	}
	err := d.Receive(ctx, sink)
	if ctx.Err() != nil {
		return nil // the engine ended it
	}
	return err
}

func (r *receiver) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	closeOnce(&r.once.finished, r.finished)
}

// Done, DoneAll, Wake, Began and Drop implement takt.Sink; a receiver has no operations.
func (r *receiver) Done(uint64, *takt.Result)      {}
func (r *receiver) DoneAll([]uint64, *takt.Result) {}
func (r *receiver) Wake()                          {}
func (r *receiver) Began(uint64, takt.Turn)        {}
func (r *receiver) Drop(uint64)                    {}

// End implements takt.Sink.
func (r *receiver) End() { r.finish() }

// Record implements takt.Sink.
func (r *receiver) Record(phase int, d time.Duration) {
	if r.open() {
		r.rec.Latency(phase, phase, r.now(), d)
	}
}

// Received implements takt.Sink.
func (r *receiver) Received(all []takt.Result) int {
	limit, now := r.plan.Requests, r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0
	}
	n := uint64(len(all))
	if now < r.warmup {
		r.rec.Received(0, now, all)
		r.warm += n
		return len(all)
	}
	if limit > 0 {
		n = min(n, limit-r.count)
	}
	if n == 0 {
		return 0
	}
	r.rec.Received(0, now, all[:n])
	r.last = max(r.last, now)
	r.count += n
	r.scheduled += n
	if r.count == limit {
		r.rec.CloseWindow(now) // the window ends with the last requested message, not with --duration
		closeOnce(&r.once.finished, r.finished)
	}
	return int(n)
}

func (r *receiver) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closed
}

func (r *receiver) stop(time.Duration) {
	if r.now == nil { // before the start: then it must take nothing from the broker
		r.cancel()
	}
	r.finish()
}

func (r *receiver) cut(at time.Duration) {
	r.mu.Lock()
	r.closed = true
	r.scheduled = max(r.scheduled, r.plan.Requests) // missing messages were expected
	count := r.count
	r.mu.Unlock()
	r.cancel()
	if count > 0 && count < r.plan.Requests {
		r.closeWindow(at)
		r.rec.Note(warn.ShortCount, "%d of %d messages came, the last one after %v; %s",
			takt.Number("missing", r.plan.Requests-count).As(count), takt.Number("expected", r.plan.Requests), takt.Time("last", r.last.Round(time.Millisecond)), takt.Advice("the silence behind it is not in the rate"))
	}
}

func (r *receiver) close() { r.done.leave() }

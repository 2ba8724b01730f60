// Package engine runs a schedule against a driver. It decides when an operation is handed
// over, limits operations in flight, and stamps the instants from which the recorder computes
// latencies. It knows no protocol and no user interface.
package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// Plan is the complete description of a run.
type Plan struct {
	Options
	Kind      string // Report.Kind
	Source    takt.Source
	Driver    *takt.Driver
	NewWaiter func(start time.Time) pace.Waiter // nil: that of pace.In, or pace.Precise
	OnStart   func(at time.Time)                // called when the start is known, which may lie ahead; nil: not called
	OnSecond  OnSecond                          // called once a second; nil: not called
	Enough    Enough                            // asked once a second; nil: not asked
	Journal   Journal                           // nil: no journal
	OnSamples OnSamples                         // called during the run; nil: no rows are kept
	Abort     <-chan struct{}                   // closed by the second signal: end at once
	Words     takt.Words                        // of the warnings
	Scrub     func(string) string               // removes secrets from error samples and bodies
	Keep      Keep                              // settings of the process that the run must not change
	World     World                             // clocks, threads and network; nil: this machine
	Meet      Meet                              // common start of several runs; nil: now, or at --start-at
	Tap       Tap                               // sees the bytes of all operations, which workers then perform; nil: nobody does

	addresses *addresses // of the connections of workers; nil: they connect by themselves
	fake      bool       // the run is in fake time
}

// Meet is called when a run is ready. It returns the instant from which the schedule counts,
// with a reading of the monotonic clock. Meet may wait for other runs until ctx ends.
type Meet func(ctx context.Context) (time.Time, error)

// OnSecond receives an interval and the failures of the whole run so far, most frequent first. Calls come
// one at a time. A slow call delays the intervals after it, but no operation.
type OnSecond func(iv takt.Interval, failures []takt.ErrorClass)

// Enough gets how many operations have a response time, and their sample, and reports whether the run may end
// here. Calls come one at a time, after those of OnSecond.
type Enough func(ended uint64, sample func() *proof.Sample) bool

// OnSamples receives a batch of operations in the order in which they ended, and the names of
// their phases. Calls come one at a time, but in parallel with OnSecond. A call may block:
// rows without room meanwhile count as skipped. The engine reuses list when the call returns.
type OnSamples func(phases []string, list []takt.Sample)

// ErrNothingToDo says that the driver offers no way to run.
var ErrNothingToDo = errors.New("the driver offers neither a worker, an asynchronous client nor a receiver")

// handGrace is how long the engine waits, after the drain, for handlers that ignore their
// cancelled context. Then the engine leaves them behind: a handler that never returns costs a
// goroutine, not the report.
const handGrace = time.Second

// interval is the length of the live intervals.
const interval = time.Second

// swapRest is the pause between two of the some thirty pieces of work at an interval's end.
const swapRest = time.Millisecond

// mode is one way of running: worker, async or receive.
type mode interface {
	name() string
	prepare(ctx context.Context) error // before the start instant: make the connections that the run needs
	start(begun time.Time, now func() time.Duration, newWaiter func() pace.Waiter)
	stop(at time.Duration) // start no operation that is due later
	cut(at time.Duration)  // count operations in flight as unfinished
	close()                // release everything
}

// Run runs p and returns its report. ctx ends with the first signal: the run then stops,
// drains and still returns its report. An error means that the run could not start.
func Run(ctx context.Context, p Plan) (*takt.Report, error) {
	if err := errors.Join(append(p.Validate(), p.StartAt.Passed())...); err != nil {
		return nil, err
	}
	defer p.closeDriver()
	if waiter := pace.Of(ctx); waiter != nil {
		p.NewWaiter, p.fake = waiter, true
	}
	if err := p.chooseEngine(); err != nil {
		return nil, err
	}
	if p.Driver.Probe != nil && p.Tap == nil { // the first operation shows how its connection is made
		if err := p.Driver.Probe(ctx); err != nil {
			return nil, fmt.Errorf("cannot reach the target: %w", err)
		}
	}
	if p.Driver.Setup != nil {
		if err := p.Driver.Setup(ctx); err != nil {
			return nil, err
		}
	}
	r := newRun(p)
	if r.mode == nil {
		return nil, ErrNothingToDo
	}
	defer r.restore()
	if err := r.mode.prepare(ctx); err != nil {
		r.mode.close()
		return nil, err
	}
	return r.run(ctx)
}

// closeMost is how long the engine waits for a driver to close. Behind it is a library that may hang
// with its target: net/http's HTTP/2 waits for ever for a lock of its own after a window that overflowed.
const closeMost = 5 * time.Second

// closeDriver closes the driver, or leaves it behind like a handler that never returns.
func (p *Plan) closeDriver() {
	if p.Driver.Close == nil {
		return
	}
	w, closed := p.world(), make(chan struct{})
	w.Go(func() {
		defer close(closed)
		_ = p.Driver.Close() // its error comes after the report and changes nothing
	})
	w.Either(closed, w.After(closeMost))
}

// run is the state of one Run.
type run struct {
	plan    Plan
	world   World
	rec     *record.Recorder
	config  record.Config // configuration of rec
	flow    *flow
	rows    *rows
	mode    mode
	cancel  context.CancelFunc // ends the context of operations, after the drain
	cores   cores
	restore func()
	usage   proc.Usage
	started time.Time
	wall    sock.Wall
	end     time.Duration // end of the schedule, as known before the start; negative: unknown
	enough  bool          // Plan.Enough says so; read after swap
}

func newRun(p Plan) *run {
	r := &run{plan: p, world: p.world(), cores: cores{needs: p.needs()}, end: p.Source.End()}
	r.restore = tune(r.cores.needs)
	shards := runtime.GOMAXPROCS(0)
	if p.Driver.Async != nil {
		shards = 1 // its completions share one lock anyway
	}
	r.config = record.Config{
		Shards:  shards,
		Phases:  p.Driver.Phases,
		Timed:   p.Driver.Timed,
		Goal:    p.Driver.Goal,
		Warmup:  p.Warmup,
		Window:  r.end,
		OneWay:  p.Driver.OneWay,
		Words:   p.Words,
		Scrub:   p.Scrub,
		Samples: roomFor(p, shards),
		Journal: p.Journal != nil,
	}
	r.rec = record.New(r.config)
	r.flow = newFlow(p, r.rec)
	r.flow.observed.tap = p.Tap
	opCtx, cancel := context.WithCancel(r.flow.observed.context())
	r.cancel = cancel
	r.rows = newRows(p, r.rec)
	d := p.Driver
	switch {
	case p.loops():
		r.mode = newLoops(r.flow, r.world, d.Loop, p.Options)
	case d.Async != nil:
		r.mode = newAsync(opCtx, r.flow, p)
	case d.Worker != nil:
		pool := newPool(opCtx, r.flow, r.world, d.Worker, p.Options)
		pool.addresses = p.addresses
		r.mode = pool
	case d.Receive != nil:
		r.mode = newReceiver(opCtx, r.flow, p)
	}
	return r
}

// stampPatience is the longest wait before a run until the kernel stamps packets.
const stampPatience = time.Second

func (r *run) run(ctx context.Context) (*takt.Report, error) {
	beginning := r.beginning()
	if r.plan.World == nil {
		done, _ := sock.KeepStamps(stampPatience) // without stamps the instant of reading counts
		defer done()
	}
	var err error
	if r.started, err = r.origin(ctx); err != nil {
		r.abandon()
		return nil, err
	}
	r.wall = sock.NewWall(r.world, r.started)
	r.usage = r.world.Usage()
	now := func() time.Duration { return r.world.Since(r.started) }
	newWaiter := func() pace.Waiter {
		switch {
		case r.plan.NewWaiter != nil:
			return r.plan.NewWaiter(r.started)
		case !r.plan.unlocked():
			return r.world.Waiter(r.started, Precisely)
		case r.plan.Driver.Queues:
			return r.world.Waiter(r.started, Promptly)
		}
		return r.world.Waiter(r.started, Plainly) // it waits for completions
	}
	r.rows.start()
	r.mode.start(r.started, now, newWaiter)
	r.announce(r.started)
	if r.plan.Journal != nil {
		beginning.Report.StartedAt = r.started.UTC()
		r.plan.Journal.Begin(beginning)
	}
	end := r.supervise(ctx, now)
	r.mode.cut(end)
	used := r.world.Usage().Since(r.usage)
	if r.plan.fake { // what the machine did took another time
		used = proc.Span{Wall: used.Wall}
	}
	r.cancel()
	r.mode.close()
	r.rows.finish(r.flow)
	return r.report(end, used)
}

// supervise ends the intervals of the run and returns the instant at which the run was over.
func (r *run) supervise(ctx context.Context, now func() time.Duration) time.Duration {
	s := &supervisor{run: r, now: now, stopping: ctx.Done(), broken: r.flow.broken, exhausted: r.flow.exhausted}
	if r.end >= 0 {
		s.over = r.world.After(r.end - now())
	}
	if f, ok := r.plan.Source.(Reactive); ok && f.Last() >= 0 {
		s.latest = r.world.After(f.Last() + r.plan.Drain.Duration() - now())
	}
	s.busy = s.cores.next(r.world.After)
	s.armTick()
	for s.step() {
	}
	end := s.at()
	s.ended.Store(true)
	if s.swapped != nil {
		r.world.First(s.swapped)
	}
	return end
}

// supervisor is the loop that supervises a run. A channel becomes nil once its event came.
type supervisor struct {
	*run
	now       func() time.Duration
	stopping  <-chan struct{} // the first signal
	broken    <-chan struct{} // the driver cannot go on
	exhausted <-chan struct{} // the source is exhausted
	over      <-chan struct{} // the schedule has ended
	deadline  <-chan struct{} // end of the drain time
	latest    <-chan struct{} // end of the drain time of a schedule that answers prolong: without it a poll could go on for hours
	busy      <-chan struct{} // time to look at the cores; nil: the run has all of them
	tick      <-chan struct{} // end of the interval; nil while swap runs
	swapped   <-chan struct{} // closed when swap returns; nil if none runs
	ended     atomic.Bool     // the run is over: swap does not pause any more
	ticks     int
	sated     bool // the schedule ended because of Plan.Enough
}

// step waits for one event and reports whether the run goes on.
func (s *supervisor) step() bool {
	events := [...]struct {
		c    <-chan struct{}
		then func()
	}{
		{s.flow.finished, s.listEnded},
		{s.plan.Abort, func() { s.finish(s.at()) }},
		{s.deadline, nil},
		{s.latest, func() { s.finish(s.at()) }},
		{s.stopping, func() { s.stopping = nil; s.finish(s.at()) }},
		{s.broken, func() { s.broken = nil; s.finish(s.at()) }},
		{s.over, func() { s.over = nil; s.finish(s.end) }},
		{s.exhausted, func() { s.listEnded(); s.drain() }},
		{s.busy, func() { s.cores.look(); s.busy = s.cores.next(s.world.After) }},
		{s.tick, s.onTick},
		{s.swapped, s.onSwapped},
	}
	var list [len(events)]<-chan struct{}
	for i, e := range events {
		list[i] = e.c
	}
	i := s.world.First(list[:]...)
	if then := events[i].then; then != nil {
		then()
	}
	return i > 3
}

// at is now, but at least 0: before the instant of --start-at now is negative.
func (s *supervisor) at() time.Duration { return max(0, s.now()) }

// listEnded ends the window where the list of operations ended. If the list does not know, the window
// ends now. It runs once: the end of the list may show together with the end of the last operation.
func (s *supervisor) listEnded() {
	feed, ok := s.plan.Source.(Feed)
	first := s.exhausted != nil
	if s.exhausted = nil; !ok || !first || s.plan.Closed() {
		return
	}
	end := feed.End()
	if end < 0 {
		end = s.at()
	}
	if s.end < 0 || end < s.end {
		s.finish(end)
	}
}

// finish ends the schedule at the instant at and drains operations in flight.
func (s *supervisor) finish(at time.Duration) {
	s.rec.CloseWindow(at)
	s.mode.stop(at)
	s.drain()
}

func (s *supervisor) drain() {
	if s.deadline == nil {
		s.deadline = s.world.After(s.plan.Drain.Duration())
	}
}

func (s *supervisor) armTick() {
	s.ticks++
	s.tick = s.world.After(time.Duration(s.ticks)*interval - s.now())
}

// onSwapped begins the next interval. If the run is long enough, the schedule ends.
func (s *supervisor) onSwapped() {
	s.swapped = nil
	s.armTick()
	if s.enough && !s.sated {
		s.sated = true
		s.finish(s.at())
	}
}

// onTick ends an interval in a goroutine, so that the supervisor goes on watching.
func (s *supervisor) onTick() {
	_, _ = s.wall.Look()
	t, swapped := s.flow.tick(time.Duration(s.ticks)*interval), make(chan struct{})
	if s.plan.NewWaiter == nil { // real time
		t.Rest = func() {
			if !s.ended.Load() {
				s.world.First(s.world.After(swapRest))
			}
		}
	}
	s.tick, s.swapped = nil, swapped
	s.world.Go(func() {
		defer close(swapped)
		s.swap(t)
	})
}

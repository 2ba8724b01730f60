package sim

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime/debug"
	"slices"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64)

// mostSteps limits the steps of a world, so that a run without an end is a fault.
const mostSteps = 20_000_000

// mostTime is longer than any world of users lasts. While nothing else happens, the engine's seconds go on.
const mostTime = time.Hour

// world is an engine.World in which a seed decides everything. Its threads are coroutines, each
// with its own clock. The thread whose clock is furthest behind runs until it is ahead of another
// thread or of an event. So the threads seem to run in parallel, each on its own core, and all
// actions happen in the order of their instants.
type world struct {
	rng     *rand.Rand
	sc      *Scenario
	base    time.Time     // instant 0 of the monotonic clock
	origin  time.Duration // start of the run by its report; known when the run has ended
	over    time.Duration // end of the run
	wall    int64         // what the wall clock shows at instant 0
	now     time.Duration // instant of the current event or thread
	events  events
	order   uint64    // number of events so far; orders those of one instant
	threads []*thread // that have not ended
	alive   int       // number of threads that the run waits for: all but the target's and clients'
	queue   queue     // threads that continue at a known instant, without the current thread
	asking  []*thread // threads that wait for a condition, which the world polls
	ends    []*ending // contexts, and the calls that wait for their end
	spawned int       // number of threads so far
	cur     *thread
	steps   int
	net     *network
	starts  *thread         // the thread that starts operations of an asynchronous client; nil: none does
	used    []time.Duration // CPU of the client, by quotaPeriod
	cores   []time.Duration // instants from which the client's cores are free
	open    int             // operations in flight at asynchronous clients
	muxes   []*watchedMux
	users   *crowd // nil: there are none
	trace   trace
	report  *checker
	journal journal
}

func newWorld(sc *Scenario, seed uint64) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 0x7a6b74)), sc: sc,
		base: time.Now(), wall: 1_800_000_000_000_000_000, report: newChecker(sc),
		cores: make([]time.Duration, sc.Cores),
	}
	w.net = newNetwork(w)
	for _, s := range sc.ClockSteps {
		w.at(s.At, func() { w.report.injected["clock step"]++ })
	}
	return w
}

// thread is one coroutine.
type thread struct {
	id      int
	at      time.Duration // its clock
	waits   bool          // it waits for ready, a wake-up or until
	ready   func() bool   // whether its wait is over; nil: only wake ends the wait
	until   time.Duration // latest end of the wait
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	loop    bool // a thread of the loop mode, which sends
	server  bool // a thread of the target or of a client, which does not have to end
	stalled span // its last stall
	looks   int  // clock readings in a row without another call
	begins  bool // its next bytes begin the request of operation seq
	seq     uint64
	mux     *watchedMux // whose bytes it asked for last, to send them next
	place   int         // in the queue; -1: not in it
	tie     uint64      // decides between threads of the same instant
}

// when is the instant at which t continues; never: unknown until somebody wakes t.
func (t *thread) when() time.Duration {
	if t.waits {
		return t.until
	}
	return t.at
}

// queue is a heap of threads, the earliest first. At equal instants the rng decides the order.
type queue []*thread

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	a, b := q[i].when(), q[j].when()
	return a < b || a == b && q[i].tie < q[j].tie
}
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}
func (q *queue) Push(x any) {
	t := x.(*thread)
	t.place = len(*q)
	*q = append(*q, t)
}
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	last.place = -1
	return last
}

// ending lists the calls to make when a context ends.
type ending struct {
	ctx  context.Context
	does []*func()
}

type span struct{ from, to time.Duration }

// event is something that happens at an instant, outside all threads.
type event struct {
	at    time.Duration
	order uint64
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// at calls do at the instant t, or now if t is over.
func (w *world) at(t time.Duration, do func()) {
	w.order++
	heap.Push(&w.events, event{max(t, w.now), w.order, do})
}

// errStopped unwinds a thread that the world stops.
var errStopped = errors.New("stopped")

// spawn begins a thread.
func (w *world) spawn(at time.Duration, f func()) *thread {
	t := &thread{id: w.spawned, at: at, until: never, place: -1}
	w.spawned++
	w.alive++
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if r := recover(); r != nil && r != errStopped {
				w.report.fault("panic", "thread %d: %v\n%s", t.id, r, debug.Stack())
			}
		}()
		f()
	})
	w.threads = append(w.threads, t)
	w.enqueue(t)
	return t
}

// enqueue puts t into the queue by its instant, or removes it if the instant is unknown.
func (w *world) enqueue(t *thread) {
	switch known := t.when() != never; {
	case t.place >= 0 && known:
		heap.Fix(&w.queue, t.place)
	case t.place >= 0:
		heap.Remove(&w.queue, t.place)
	case known:
		t.tie = w.rng.Uint64()
		heap.Push(&w.queue, t)
	}
}

// run runs main and all threads that main starts, until they have ended or none can continue.
func (w *world) run(main func()) {
	w.spawn(0, func() { main(); w.over = w.cur.at })
	for w.alive > 0 && w.step() {
	}
	for _, t := range w.threads {
		if !t.server {
			w.report.fault("thread left", "thread %d still runs or waits after the run", t.id)
		}
		t.stop()
	}
}

// step runs the next event or thread. It reports false when none can continue, or after mostSteps.
func (w *world) step() bool {
	if w.steps++; w.steps > mostSteps || w.users != nil && w.now > mostTime {
		w.report.fault("no end", "the run does not end: %d steps, instant %v", w.steps, w.now)
		return false
	}
	at := never
	if len(w.queue) > 0 {
		at = w.queue[0].when()
	}
	switch {
	case len(w.events) > 0 && w.events[0].at <= at:
		ev := heap.Pop(&w.events).(event)
		w.now = max(w.now, ev.at)
		ev.do()
		w.look()
		return true
	case at == never:
		return false
	}
	w.now = max(w.now, at)
	next := heap.Pop(&w.queue).(*thread)
	if next.ready != nil {
		w.asking = slices.DeleteFunc(w.asking, func(t *thread) bool { return t == next })
	}
	next.at, next.waits, next.ready, next.until = at, false, nil, never
	if p := w.sc.Pause; p.From <= at && at < p.To && !next.server {
		next.at = p.To
		w.enqueue(next)
		return true
	}
	w.cur = next
	_, running := next.next()
	if w.cur = nil; running {
		w.enqueue(next)
	} else {
		w.threads = slices.DeleteFunc(w.threads, func(t *thread) bool { return t == next })
		if !next.server {
			w.alive--
		}
	}
	w.look()
	return true
}

// look wakes threads whose condition is met, and makes the calls for contexts that have ended.
func (w *world) look() {
	still := w.asking[:0]
	for _, t := range w.asking {
		if t.ready() {
			w.wake(t)
		} else {
			still = append(still, t)
		}
	}
	w.asking = still
	for _, e := range w.ends {
		if len(e.does) > 0 && e.ctx.Err() != nil {
			does := e.does
			e.does = nil
			for _, do := range does {
				(*do)()
			}
		}
	}
}

// wake ends the wait of t.
func (w *world) wake(t *thread) {
	if t.waits {
		t.at, t.waits, t.ready, t.until = max(t.at, w.now)+w.wakeUp(), false, nil, never
		w.enqueue(t)
	}
}

// onEnd calls do when ctx ends, unless undo is called before.
func (w *world) onEnd(ctx context.Context, do func()) (undo func() bool) {
	for {
		in, ok := ctx.(within)
		if !ok {
			break
		}
		ctx = in.Context
	}
	i := slices.IndexFunc(w.ends, func(e *ending) bool { return e.ctx == ctx })
	if i < 0 {
		i = len(w.ends)
		w.ends = append(w.ends, &ending{ctx: ctx})
	}
	e := w.ends[i]
	e.does = append(e.does, &do)
	return func() bool {
		before := len(e.does)
		e.does = slices.DeleteFunc(e.does, func(o *func()) bool { return o == &do })
		return len(e.does) < before
	}
}

// The latest that a timer fires, that a thread runs once it can, and what a fault adds to that.
const (
	latestTimer = 200 * time.Microsecond
	latestWake  = 45 * time.Microsecond
	latestFault = 3 * time.Millisecond
)

// wakeUp is how long a thread takes to run once it can: 5 to 44 µs, or up to 3 ms more by a fault.
func (w *world) wakeUp() time.Duration {
	d := time.Duration(5+w.rng.IntN(40)) * time.Microsecond
	if w.sc.LateWakes > 0 && w.rng.Float64() < w.sc.LateWakes {
		d += time.Duration(w.rng.Int64N(int64(latestFault)))
		w.report.injected["late wake-up"]++
	}
	return d
}

// spend makes a call of the current thread last d. Other threads may run meanwhile.
func (w *world) spend(d time.Duration) {
	w.cur.looks = 0
	w.pass(d)
}

func (w *world) pass(d time.Duration) {
	t := w.cur
	if t.looks < 10 { // t may have done what other threads wait for; polling costs the simulator time
		w.look()
	}
	if !t.server {
		t.at = w.core(t.at, d)
	}
	t.at += d
	if p := w.sc.Pause; p.From <= t.at && t.at < p.To && !t.server {
		t.at = p.To
	}
	if w.sc.Stalls > 0 && w.rng.Float64() < w.sc.Stalls {
		from := t.at
		t.at += time.Duration(1 + w.rng.Int64N(int64(w.sc.StallMost)))
		t.stalled = span{from, t.at}
		if t.loop {
			w.report.stalls = append(w.report.stalls, t.stalled)
		}
		w.report.injected["stall"]++
	}
	w.sync()
}

// quotaPeriod is that of a control group.
const quotaPeriod = 100 * time.Millisecond

// core is the instant from which a thread of the client, ready at the instant at, has a core for d. A thread
// whose quota ends meanwhile goes on in the next period, and then the instant is that much later.
func (w *world) core(at, d time.Duration) time.Duration {
	at = thawed(w.sc.Halts, at)
	if w.sc.Cores > 0 {
		first := slices.Index(w.cores, slices.Min(w.cores))
		at = max(at, w.cores[first])
		w.cores[first] = at + d
	}
	if w.sc.Quota == 0 {
		return at
	}
	for left := d; ; {
		i := int(at / quotaPeriod)
		for len(w.used) <= i {
			w.used = append(w.used, 0)
		}
		room := w.sc.Quota - w.used[i]
		if left < room || left == 0 && room > 0 {
			w.used[i] += left
			return at + left - d
		}
		left -= room
		w.used[i] = w.sc.Quota
		at = quotaPeriod * time.Duration(i+1)
	}
}

// thawed is the first instant from at on in which nothing is frozen.
func thawed(list []freeze, at time.Duration) time.Duration {
	for _, f := range list {
		if f.From <= at && at < f.To {
			at = f.To
		}
	}
	return at
}

// sync runs all threads and events that are due before the current thread.
func (w *world) sync() {
	t := w.cur
	if len(w.queue) > 0 && w.queue[0].when() <= t.at || len(w.events) > 0 && w.events[0].at <= t.at {
		w.pause()
		return
	}
	w.now = max(w.now, t.at)
}

// pause lets other threads run. The current thread continues when it is the earliest again.
func (w *world) pause() {
	t := w.cur
	if !t.yield(struct{}{}) {
		panic(errStopped)
	}
}

// block makes the current thread wait until ready reports true, at most until that instant.
func (w *world) block(until time.Duration, ready func() bool) {
	t := w.cur
	if ready() {
		return
	}
	t.waits, t.ready, t.until = true, ready, until
	w.asking = append(w.asking, t)
	w.pause()
}

// wait makes the current thread wait until somebody wakes it, at most until that instant.
func (w *world) wait(until time.Duration) {
	t := w.cur
	t.waits, t.until = true, until
	w.pause()
}

// sleep makes the current thread sleep for d, or less if a fault interrupts the sleep.
func (w *world) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	if w.chance("interrupted sleep", w.sc.Interrupts) {
		d = time.Duration(w.rng.Int64N(int64(d)))
	}
	w.spend(0)
	w.cur.at += d + w.wakeUp()
	w.sync()
}

// readClock takes 30 ns of virtual time. After 100 readings in a row each takes 300 ns: the thread
// only waits, and every reading is a step of the simulator.
func (w *world) readClock() {
	t := w.cur
	d := 30 * time.Nanosecond
	if t.looks++; t.looks > 100 {
		d = 300 * time.Nanosecond
	}
	w.pass(d)
}

// Since implements sock.Clock.
func (w *world) Since(start time.Time) time.Duration {
	w.readClock()
	return w.cur.at - start.Sub(w.base)
}

// Both implements sock.Clock.
func (w *world) Both(start time.Time) (since time.Duration, wall int64) {
	w.readClock()
	return w.cur.at - start.Sub(w.base), w.wallAt(w.cur.at)
}

// wallAt is what the wall clock shows, after the clock steps of the scenario.
func (w *world) wallAt(at time.Duration) int64 {
	shown := w.wall + int64(at)
	for _, s := range w.sc.ClockSteps {
		if at >= s.At {
			shown += int64(s.By)
		}
	}
	return shown
}

// Now implements engine.World.
func (w *world) Now() time.Time {
	w.readClock()
	return w.base.Add(w.cur.at)
}

// After implements engine.World. As with Go's timers the channel is closed late: by up to 0.2 ms.
func (w *world) After(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	late := time.Duration(w.rng.Int64N(int64(latestTimer)))
	w.at(w.cur.at+max(0, d)+late, func() { close(c) })
	return c
}

// First implements engine.World. If several channels are ready, the first in the list counts.
func (w *world) First(list ...<-chan struct{}) (first int) {
	w.spend(100 * time.Nanosecond)
	first = -1
	w.block(never, func() bool {
		for i, c := range list {
			select {
			case <-c:
				first = i
				return true
			default:
			}
		}
		return false
	})
	return first
}

// Either implements engine.World.
func (w *world) Either(a, b <-chan struct{}) int { return w.First(a, b) }

// Waiter implements engine.World.
func (w *world) Waiter(start time.Time, how engine.Waiting) pace.Waiter {
	if how == engine.Precisely {
		return &waiter{w, start}
	}
	return &prompt{waiter{w, start}}
}

// waiter sleeps as pace.Precise does.
type waiter struct {
	w     *world
	start time.Time
}

func (p *waiter) Now() time.Duration { return p.w.Since(p.start) }

func (p *waiter) Until(due time.Duration, stop <-chan struct{}) {
	for {
		left := due - p.Now()
		select {
		case <-stop:
			return
		default:
		}
		if left <= 0 {
			return
		}
		p.w.note("sleep", 0, int(left))
		p.w.sleep(min(left, pace.Piece))
	}
}

func (p *waiter) Live() bool { return true }
func (p *waiter) Close()     {}

// prompt waits as pace.Prompt does.
type prompt struct{ waiter }

func (p *prompt) Until(due time.Duration, stop <-chan struct{}) {
	if due <= p.Now() {
		return
	}
	w := p.w
	w.note("wait", 0, int(due))
	w.block(p.start.Sub(w.base)+due+w.wakeUp(), func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	})
}

// OnEnd implements engine.World.
func (w *world) OnEnd(ctx context.Context, f func()) (undo func() bool) {
	return w.onEnd(ctx, func() { w.spawn(w.now+w.wakeUp(), f) })
}

// Within implements engine.World.
func (w *world) Within(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	if until, ok := ctx.Deadline(); ok && until.Before(at) {
		at = until
	}
	return within{ctx, at}, func() {}
}

// within is a context with a deadline in the world's time. Whoever waits asks for the deadline,
// because the timer of a real context runs in real time.
type within struct {
	context.Context
	at time.Time
}

func (c within) Deadline() (time.Time, bool) { return c.at, true }

// Done is nil, so that a TLS handshake starts no goroutine of its own.
func (c within) Done() <-chan struct{} { return nil }

// Go implements engine.World.
func (w *world) Go(f func()) { w.spawn(w.cur.at+w.wakeUp(), f) }

// Thread implements engine.World.
func (w *world) Thread(f func()) { w.spawn(w.cur.at+w.wakeUp(), f).loop = true }

// System implements engine.World.
func (w *world) System() (sock.System, error) {
	return &system{world: w, watched: map[int]*watch{}}, nil
}

// address is the address of the target.
var address = netip.MustParseAddrPort("10.0.0.1:80")

// LookupHost implements engine.World. The target is an address, so nobody asks.
func (w *world) LookupHost(_ context.Context, host string) ([]string, error) {
	return nil, &net.DNSError{Err: "the simulator has no names", Name: host, IsNotFound: true}
}

// Dial implements engine.World.
func (w *world) Dial(context.Context, *takt.Loop) (netip.AddrPort, int, error) {
	w.spend(100 * time.Microsecond)
	c, err := w.net.connect()
	if err != nil {
		return address, -1, fmt.Errorf("cannot reach the target: %w", err)
	}
	w.block(never, func() bool { return c.state != connecting })
	if c.state == refused {
		fd := c.fd
		w.net.close(fd)
		return address, -1, fmt.Errorf("cannot reach the target: %w", c.err)
	}
	return address, c.fd, nil
}

// Release implements engine.World.
func (w *world) Release(c net.Conn) (netip.AddrPort, int, error) {
	s := c.(*socket) // Connect made it
	s.undo()
	w.spend(callOther)
	w.note("release", s.c.fd, 0)
	s.c.released = w.cur.at
	return address, s.c.fd, nil
}

// Close implements engine.World.
func (w *world) Close(fd int) { w.net.close(fd) }

// Usage implements engine.World. It has only the instant: CPU and memory of the real machine would
// differ from run to run.
func (w *world) Usage() proc.Usage {
	w.spend(50 * time.Microsecond)
	return proc.Usage{At: w.base.Add(w.cur.at)}
}

var _ engine.World = (*world)(nil)

// trace is a fingerprint of all calls of the threads to the world, in order.
type trace struct {
	sum   uint64
	calls uint64
	log   []string // the calls as text, with Scenario.Verbose
}

// add mixes numbers into the fingerprint, as FNV-1a does with bytes.
func (t *trace) add(numbers ...uint64) {
	for _, n := range numbers {
		t.sum = (t.sum ^ n) * 0x100000001b3
		t.sum ^= t.sum >> 29
	}
}

// dialFault notes a fault that may fail an operation before it is sent.
func (w *world) dialFault() {
	w.report.dialFaults++
	w.report.dials = append(w.report.dials, w.now)
}

// note adds a call of the current thread to the trace.
func (w *world) note(call string, fd, n int) {
	w.trace.calls++
	w.trace.add(uint64(w.cur.id), uint64(w.cur.at), uint64(call[0])<<8|uint64(call[len(call)-1]), uint64(fd), uint64(n))
	if w.sc.Verbose {
		w.trace.log = append(w.trace.log, fmt.Sprintf("%12.3fus thread %d %s fd %d: %d", float64(w.cur.at)/1e3, w.cur.id, call, fd, n))
	}
}

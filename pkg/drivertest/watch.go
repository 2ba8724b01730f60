package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

// watched is a driver whose calls are counted.
type watched struct {
	driver                 *takt.Driver
	opened, closed         atomic.Int64 // workers and asynchronous clients
	twice, unknown, nobody atomic.Int64 // completions of a token that is done; that was never given; after Close
	unnamed                atomic.Int64 // failures with an error, and without a class
	driverClosed           atomic.Int64
	starts, ends           atomic.Int64 // of operations

	begun func()        // called before the first operation
	pause time.Duration // after each operation of a worker, so that all workers are busy

	routes *routes

	mu   sync.Mutex
	open map[uint64]bool // tokens; false: done
	kept []takt.Worker   // the garbage collector would close a connection that nobody knows
}

func watch(d *takt.Driver) *watched {
	w := &watched{open: map[uint64]bool{}, begun: func() {}, routes: newRoutes()}
	c := *d
	if d.Worker != nil {
		c.Worker = func(i int) (takt.Worker, error) {
			w.routes.enter(&w.routes.opening)
			inner, err := d.Worker(i)
			if err != nil {
				return nil, err
			}
			w.routes.leave(&w.routes.opening)
			w.keep(inner)
			return &watchedWorker{inner, w}, nil
		}
	}
	if d.Async != nil {
		c.Async = w.async(d.Async)
	}
	c.Close = func() error {
		w.driverClosed.Add(1)
		closeDriver(d)
		return nil
	}
	w.driver = &c
	return w
}

type watchedWorker struct {
	takt.Worker
	w *watched
}

func (k *watchedWorker) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	k.w.begins()
	k.Worker.Do(ctx, op, r)
	k.w.ended(r)
	time.Sleep(k.w.pause)
}

// begins notes that an operation begins.
func (w *watched) begins() {
	w.routes.enter(&w.routes.first)
	w.begun()
	w.starts.Add(1)
}

// ended notes the result of an operation.
func (w *watched) ended(r *takt.Result) {
	w.routes.leave(&w.routes.first)
	w.ends.Add(1)
	if r.Err != nil && r.Class == "" {
		w.unnamed.Add(1)
	}
}

// counts are how many operations have begun and ended.
func (w *watched) counts() (starts, ends int64) { return w.starts.Load(), w.ends.Load() }

// keep counts a worker that was opened.
func (w *watched) keep(inner takt.Worker) {
	w.opened.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, inner)
}

func (k *watchedWorker) Close() error {
	k.w.closed.Add(1)
	return k.Worker.Close()
}

func (w *watched) async(open func(int, takt.Sink) (*takt.AsyncClient, error)) func(int, takt.Sink) (*takt.AsyncClient, error) {
	return func(i int, sink takt.Sink) (*takt.AsyncClient, error) {
		w.routes.enter(&w.routes.opening)
		inner, err := open(i, &watchedSink{sink, w})
		if err != nil {
			return nil, err
		}
		w.routes.leave(&w.routes.opening)
		w.opened.Add(1)
		c := *inner
		if inner.Start != nil {
			c.Start = func(op *takt.Op) error {
				w.begin(op.Token)
				err := inner.Start(op)
				if err != nil {
					w.forget(op.Token)
				}
				return err
			}
		}
		if inner.StartAll != nil {
			c.StartAll = func(ops []takt.Op) {
				for i := range ops {
					w.begin(ops[i].Token)
				}
				inner.StartAll(ops)
			}
		}
		c.Close = func() error {
			w.closed.Add(1)
			if inner.Close == nil {
				return nil
			}
			return inner.Close()
		}
		return &c, nil
	}
}

func (w *watched) begin(token uint64) {
	w.begins()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[token] = true
}

func (w *watched) forget(token uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, token)
}

func (w *watched) done(token uint64, r *takt.Result) {
	w.ended(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	open, given := w.open[token]
	switch {
	case !given:
		w.unknown.Add(1)
	case !open:
		w.twice.Add(1)
	}
	w.open[token] = false
}

type watchedSink struct {
	takt.Sink
	w *watched
}

func (s *watchedSink) Done(token uint64, r *takt.Result) {
	s.w.done(token, r)
	s.Sink.Done(token, r)
}

func (s *watchedSink) DoneAll(tokens []uint64, r *takt.Result) {
	for _, token := range tokens {
		s.w.done(token, r)
	}
	s.Sink.DoneAll(tokens, r)
}

// judge says what the driver did wrong.
func (w *watched) judge(t failer) {
	t.Helper()
	until(func() bool { return w.opened.Load() == w.closed.Load() })
	if o, c := w.opened.Load(), w.closed.Load(); o != c {
		t.Doubtf("%d workers or clients were opened, and %d were closed within %v of the end; an operation does not return after its context has ended: pass ctx on, or set deadlines", o, c, leakTime)
	}
	if n := w.driverClosed.Load(); n != 1 {
		t.Errorf("takt closed the driver %d times", n)
	}
	if n := w.twice.Load(); n > 0 {
		t.Errorf("%d operations were reported twice; call Sink.Done once for each token, also after an error", n)
	}
	if n := w.unknown.Load(); n > 0 {
		t.Errorf("%d completions have a token that Start did not give, or for which Start returned an error; keep op.Token when Start begins the operation, and call Sink.Done only if Start returned nil", n)
	}
	if n := w.unnamed.Load(); n > 0 {
		t.Errorf("%d operations have Result.Err and no Result.Class, and so count as ok; set the class, for example to load.ClassOf(err)", n)
	}
}

// judgeClass finds faults of a class of failures.
func judgeClass(t failer, e Expect, c takt.ErrorClass) {
	t.Helper()
	switch {
	case len(c.Class) > 60 || strings.ContainsAny(c.Class, " \t\n"):
		t.Errorf("the class %.80q is not a short word; give failures with one cause one class, such as \"timeout\", and put the details into Result.Err", c.Class)
	case strings.ContainsAny(c.Class, "0123456789") && strings.Contains(c.Class, ":"):
		t.Errorf("the class %q has an address, so each connection has a class of its own; leave it out", c.Class)
	case c.Class == "other" && c.Count > 1:
		t.Errorf("%d failures are in the class \"other\", because there are more than 64 classes; leave out what differs from one failure to the next", c.Count)
	case e.Classes != nil && c.Class != takt.ClassUnfinished && !slices.Contains(e.Classes, c.Class):
		t.Doubtf("the class %q (%s) is not among Expect.Classes; add it there, or use one of %s", c.Class, c.Sample, strings.Join(e.Classes, ", "))
	}
}

// concurrent lets a driver perform many operations at the same time.
func concurrent(t failer, d *takt.Driver) {
	t.Helper()
	const workers, each = 20, 50
	w := watch(d)
	s := load.Closed(0)
	s.Limit = workers * each
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := load.Run(ctx, load.Plan{Driver: w.driver, Schedule: s, Workers: workers, Drain: drain})
	if err != nil {
		t.Doubtf("a closed loop of %d workers could not start: %v", workers, err)
		return
	}
	if r.Counts.OK < workers*each {
		inTime := ""
		if ctx.Err() != nil {
			inTime = fmt.Sprintf(" within %v", patience)
		}
		t.Doubtf("of %d operations of %d workers %d succeeded%s (%s); workers call the driver at the same time, so give each its own connection, or guard what they share, and try go test -race", workers*each, workers, r.Counts.OK, inTime, failures(r))
	}
	w.judge(t)
}

// failures are the classes of a report with an example each.
func failures(r *takt.Report) string {
	var list []string
	for _, c := range r.Errors {
		list = append(list, fmt.Sprintf("%d %s: %s", c.Count, c.Class, c.Sample))
	}
	if r.Counts.Unfinished > 0 {
		list = append(list, fmt.Sprintf("%d unfinished", r.Counts.Unfinished))
	}
	return strings.Join(list, "; ")
}

package apmserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Load puts the load on the servers at these URLs, and gives its report once its last
// worker has ended. If ctx ends it ends early, and gives the report of what was done.
type Load func(ctx context.Context, urls ...string) (*takt.Report, error)

// Trial is one test of a server: it is started if takt manages it, gets the load, and is
// stopped once what it took has arrived in the cluster.
type Trial struct {
	Server    Server
	Options   Options        // Output and Out are the trial's
	Documents *Documents     // nil: they are not counted
	Variables map[string]any // of the load, as the user said it: events, spans, frames, workers
	Load      Load
	Cooldown  time.Duration // between the load and the first count; in no figure
	DrainTime time.Duration // for the events to arrive, as long as they do; 0: 15 minutes
	Least     time.Duration // a shorter run is not comparable; 0: 30 s
	Out       io.Writer     // narration; nil: none
}

// Warnings of a trial, beside those of the load.
const (
	WarnIncomparable = "not_comparable"    // with the reasons
	WarnUncounted    = "not_counted"       // the documents could not be counted
	WarnUndrained    = "not_drained"       // events were still in flight when they were counted
	WarnDropped      = "events_dropped"    // the server gave events up
	WarnMissing      = "documents_missing" // of events that the server did not give up
	WarnSurplus      = "documents_surplus" // of no accepted event
	warnBrokeOff     = "broke_off"
	warnCancelled    = "cancelled"
)

// measured is what a trial knows beside the report of the load.
type measured struct {
	urls    []string
	managed bool
	version string
	usage   usage
	d       drained
	counter map[string]any
	said    string // the server's first error, of events that were lost
}

// Run makes the trial. With the error of a trial that broke off there is the report of
// what was done, if there is one.
func (t *Trial) Run(ctx context.Context) (*takt.Report, error) {
	o := t.Options
	o.Out = t.out()
	if t.Documents != nil {
		o.Output = t.Documents.Output()
	}
	if o.Log == nil {
		o.Log = NewLog()
	}
	running, err := t.Server.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	r, m, err := t.on(ctx, running, o.Log)
	if stopped := running.Stop(); err == nil {
		err = stopped
	}
	if r != nil {
		t.fill(r, m)
	}
	return r, err
}

// on makes the trial on a server that runs.
func (t *Trial) on(ctx context.Context, running *Running, log *Log) (*takt.Report, *measured, error) {
	m := &measured{urls: running.URLs, managed: running.Managed, version: running.Version}
	var before start
	var err error
	if before.documents, err = t.count(ctx); err != nil {
		return nil, m, err
	}
	before.counters, before.known = running.counters(ctx)
	w := watch(running)
	r, err := t.load(ctx, running, log)
	if r == nil || err != nil {
		m.usage = w.usage()
		return r, m, err
	}
	err = t.arrive(ctx, running, log, before, r, m)
	m.usage = w.usage()
	if !m.d.complete() {
		m.said = log.firstError(m.d.dropped > 0)
	}
	if after, ok := running.counters(ctx); ok && before.known {
		m.counter = after.since(before.counters)
	}
	return r, m, cmp.Or(err, ctx.Err())
}

// start is what there was before the load.
type start struct {
	documents int64
	counters  Counters
	known     bool // counters
}

func (t *Trial) count(ctx context.Context) (int64, error) {
	if t.Documents == nil {
		return 0, nil
	}
	return t.Documents.Count(ctx)
}

// load runs the load; it is cancelled when the server ends.
func (t *Trial) load(ctx context.Context, running *Running, log *Log) (*takt.Report, error) {
	inner, cancel := context.WithCancelCause(ctx)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-running.Done():
			cancel(running.failure(log))
		case <-inner.Done():
		}
	}()
	r, err := t.Load(inner, running.URLs...)
	died := context.Cause(inner)
	cancel(nil)
	<-watching
	switch {
	case ctx.Err() != nil:
		warnOnce(r, warnCancelled, "the trial was cancelled before its end")
		return r, cmp.Or(context.Cause(ctx), ctx.Err())
	case died != nil:
		warnOnce(r, warnBrokeOff, died.Error())
		return r, died
	}
	return r, err
}

// arrive waits until the events of the load are in the cluster. The error is that of a
// server that ended meanwhile.
func (t *Trial) arrive(ctx context.Context, running *Running, log *Log, before start, r *takt.Report, m *measured) error {
	select {
	case <-time.After(t.Cooldown):
	case <-ctx.Done():
	}
	if t.Documents == nil {
		warnOnce(r, WarnUncounted, "the documents were not counted: no cluster is known; give it with: elasticsearch use URL")
		if !before.known {
			return nil
		}
	}
	fmt.Fprintln(t.out(), "waiting until no event is in flight")
	l := looker{t: t, running: running, log: log, before: before, load: accountOf(r)}
	m.d, _ = drain(ctx, cmp.Or(t.DrainTime, drainLong), l.look) // its error is in l, or that of ctx
	if l.failed != nil {
		warnOnce(r, WarnUncounted, "the documents were not counted: "+l.failed.Error())
	}
	switch {
	case l.died != nil:
		warnOnce(r, warnBrokeOff, l.died.Error())
	case ctx.Err() != nil:
		warnOnce(r, warnCancelled, "the trial was cancelled before its end")
	}
	return l.died
}

// looker reads the account of a trial.
type looker struct {
	t       *Trial
	running *Running
	log     *Log
	before  start
	load    account
	failed  error // why the documents cannot be counted
	died    error // how the server ended
	looks   int
}

// look reads the counters before the documents: what is in flight in neither was lost.
func (l *looker) look(ctx context.Context) (account, error) {
	a := l.load
	select {
	case <-l.running.Done():
		l.died = l.running.failure(l.log)
		return a, l.died
	default:
	}
	if c, ok := l.running.counters(ctx); ok && l.before.known {
		a.tell(l.before.counters, c)
	}
	if l.t.Documents != nil {
		var n int64
		n, l.failed = l.t.Documents.Count(ctx)
		a.indexed = float64(n - l.before.documents)
		if l.failed == nil && a.indexed < 0 {
			l.failed = fmt.Errorf("somebody deleted %.0f of them during the run", -a.indexed)
		}
		a.counted = l.failed == nil
	}
	if l.looks++; l.looks%narrated == 0 && a.pending() > 0 {
		fmt.Fprintf(l.t.out(), "%.0f events have not arrived yet\n", a.pending())
	}
	if !a.counted {
		a.indexed = 0
	}
	if !a.told {
		return a, l.failed
	}
	return a, nil
}

// narrated is how many looks, a second each, are between two lines about the wait.
const narrated = 10

func (t *Trial) out() io.Writer {
	if t.Out == nil {
		return io.Discard
	}
	return t.Out
}

// warnOnce adds a warning unless the report has one of that code.
func warnOnce(r *takt.Report, code, message string) {
	if r == nil || r.Warned(code) {
		return
	}
	r.Warnings = append(r.Warnings, takt.Warning{Code: code, Message: strings.ReplaceAll(message, "\n", " | ")})
}

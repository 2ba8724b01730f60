package apmserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Load puts the load on the servers at these URLs, and returns its report when its last
// worker has ended. If ctx ends, the load ends early and returns its partial report.
type Load func(ctx context.Context, urls ...string) (*takt.Report, error)

// Trial is one test of a server. takt starts the server if it manages it, applies the load,
// and stops the server when its accepted events have arrived in the cluster.
type Trial struct {
	Server    Server
	Options   Options        // the trial sets Output and Out
	Documents *Documents     // nil: documents are not counted
	Variables map[string]any // variables of the load in the user's words: events, spans, frames, workers
	Load      Load
	Cooldown  time.Duration // time between the load and the first count; not counted
	DrainTime time.Duration // longest wait for arriving events; 0: 15 minutes
	Least     time.Duration // shortest comparable run; 0: 30 s
	Out       io.Writer     // receives narration; nil: none
}

// measured is what a trial measures besides the load's report.
type measured struct {
	urls    []string
	managed bool
	version string
	usage   process.Usage
	d       drained
	counter map[string]any
	said    string // the server's first error about lost events
}

// Run runs the trial. If it fails midway, Run returns the error and the partial report, if
// there is one.
func (t *Trial) Run(ctx context.Context) (*takt.Report, error) {
	o := t.Options
	o.Out = t.out()
	if t.Documents != nil {
		o.Output = t.Documents.Output()
	}
	if o.Log == nil {
		o.Log = process.NewLog()
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

// on runs the trial on a running server.
func (t *Trial) on(ctx context.Context, running *Running, log *process.Log) (*takt.Report, *measured, error) {
	m := &measured{urls: running.URLs, managed: running.Managed, version: running.Version}
	var before start
	var err error
	if before.documents, err = t.count(ctx); err != nil {
		return nil, m, err
	}
	before.counters, before.known = running.counters(ctx)
	w := process.Watch(running.pid)
	seconds := timeline.Begin(running.timeline(log)...)
	r, err := t.load(ctx, running, log)
	seconds.End()
	if r != nil {
		seconds.Fill(r)
	}
	if r == nil || err != nil {
		m.usage = w.Usage()
		return r, m, err
	}
	err = t.arrive(ctx, running, log, before, r, m)
	m.usage = w.Usage()
	if !m.d.complete() {
		m.said = log.FirstError(m.d.dropped > 0)
	}
	if after, ok := running.counters(ctx); ok && before.known {
		m.counter = after.since(before.counters)
	}
	return r, m, cmp.Or(err, ctx.Err())
}

// start is the state before the load.
type start struct {
	documents int64
	counters  Counters
	known     bool // counters is valid
}

func (t *Trial) count(ctx context.Context) (int64, error) {
	if t.Documents == nil {
		return 0, nil
	}
	return t.Documents.Count(ctx)
}

// load runs the load and cancels it if the server ends.
func (t *Trial) load(ctx context.Context, running *Running, log *process.Log) (*takt.Report, error) {
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
		warnOnce(r, warn.Cancelled, "the trial was cancelled before its end")
		return r, cmp.Or(context.Cause(ctx), ctx.Err())
	case died != nil:
		warnOnce(r, warn.BrokeOff, "%v", died)
		return r, died
	}
	return r, err
}

// arrive waits until the events of the load are in the cluster. It fails if the server ends
// meanwhile.
func (t *Trial) arrive(ctx context.Context, running *Running, log *process.Log, before start, r *takt.Report, m *measured) error {
	pause.For(t.Cooldown, ctx.Done())
	if t.Documents == nil {
		warnOnce(r, warn.NotCounted, "the documents were not counted: no cluster is known; %s", takt.Advice("give it with: elasticsearch use URL"))
		if !before.known {
			return nil
		}
	}
	fmt.Fprintln(t.out(), "waiting until no event is in flight")
	l := looker{t: t, running: running, log: log, before: before, load: accountOf(r)}
	l.load.traces = tracesItself(t.Options.Flags)
	m.d, _ = drain(ctx, cmp.Or(t.DrainTime, drainLong), l.look) // its error is l.failed, or that of ctx
	if l.failed != nil {
		warnOnce(r, warn.NotCounted, "the documents were not counted: %v", l.failed)
	}
	switch {
	case l.died != nil:
		warnOnce(r, warn.BrokeOff, "%v", l.died)
	case ctx.Err() != nil:
		warnOnce(r, warn.Cancelled, "the trial was cancelled before its end")
	}
	return l.died
}

// looker reads the account of a trial.
type looker struct {
	t       *Trial
	running *Running
	log     *process.Log
	before  start
	load    account
	failed  error // why documents cannot be counted
	died    error // how the server ended
	looks   int
}

// look reads the counters before the documents: an event that moves in between is then
// counted twice, not lost.
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

// narrated is the number of looks, one a second, between two lines about the wait.
const narrated = 10

func (t *Trial) out() io.Writer {
	if t.Out == nil {
		return io.Discard
	}
	return t.Out
}

// warnOnce adds a warning unless the report has one with that code.
func warnOnce(r *takt.Report, code takt.WarningCode, format string, args ...any) {
	if r == nil || r.Warned(code) {
		return
	}
	r.Warn(code, format, args...)
	last := &r.Warnings[len(r.Warnings)-1]
	last.Message = strings.ReplaceAll(last.Message, "\n", " | ")
}

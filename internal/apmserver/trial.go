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
	DrainTime time.Duration // for the events to arrive; 0: 5 minutes
	Least     time.Duration // a shorter run is not comparable; 0: 30 s
	Out       io.Writer     // narration; nil: none
}

// Warnings of a trial, beside those of the load.
const (
	WarnIncomparable = "not_comparable" // with the reasons
	WarnUncounted    = "not_counted"    // the documents could not be counted
	WarnUndrained    = "not_drained"    // events were still in flight when they were counted
	warnBrokeOff     = "broke_off"
	warnCancelled    = "cancelled"
)

// measured is what a trial knows beside the report of the load.
type measured struct {
	urls    []string
	managed bool
	version string
	usage   usage
	counted bool    // d holds
	d       drained // documents
	counter map[string]any
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
	before, err := t.count(ctx)
	if err != nil {
		return nil, m, err
	}
	counters, known := running.counters(ctx)
	w := watch(running)
	r, err := t.load(ctx, running, log)
	if r == nil || err != nil {
		m.usage = w.usage()
		return r, m, err
	}
	t.arrive(ctx, running, before, r, m)
	m.usage = w.usage()
	if after, ok := running.counters(ctx); ok && known {
		m.counter = after.since(counters)
	}
	return r, m, ctx.Err()
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

// arrive waits until the events of the load are in the cluster.
func (t *Trial) arrive(ctx context.Context, running *Running, before int64, r *takt.Report, m *measured) {
	select {
	case <-time.After(t.Cooldown):
	case <-ctx.Done():
	}
	if t.Documents == nil {
		warnOnce(r, WarnUncounted, "the documents were not counted: no cluster is known; give it with: elasticsearch use URL")
		return
	}
	fmt.Fprintln(t.out(), "waiting until no event is in flight")
	var err error
	m.d, err = drain(ctx, cmp.Or(t.DrainTime, 5*time.Minute), func(ctx context.Context) (state, error) {
		return t.look(ctx, running, before)
	})
	if err == nil && m.d.indexed < 0 {
		err = fmt.Errorf("somebody deleted %d of them during the run", -m.d.indexed)
	}
	if m.counted = err == nil; err != nil {
		warnOnce(r, WarnUncounted, "the documents were not counted: "+err.Error())
	}
	if m.d.gaveUp {
		warnOnce(r, WarnUndrained, fmt.Sprintf("after %.0f s documents still arrived, or events were still in the server (%.0f); the count is too low", m.d.took.Seconds(), m.d.inFlight))
	}
}

// look reads the counters before the documents: what is in flight in neither was lost.
func (t *Trial) look(ctx context.Context, running *Running, before int64) (s state, err error) {
	c, _ := running.counters(ctx)
	s.inFlight, s.known = c.inFlight()
	n, err := t.Documents.Count(ctx)
	s.indexed = n - before
	return s, err
}

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

package loadcmd

import (
	"context"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// following is what follows a run, local or remote.
type following struct {
	live.Watchers
	overload *overload.Watch // nil: the run has not begun, or nobody can say
	faults   *injector
	outage   func() (takt.Outage, bool) // the newest outage; nil: nobody sees any
	hide     func(string) string
	judged   bool // guarded looks into each second
}

// follow returns what follows a run. words tells of it in a predecessor's words. source is where its
// operations are from; nil: only the processes of a fleet know.
//
// This is the order of all calls: the line of a second comes before the message that the second ends the
// run. At the end the terminal is restored before takt waits for receivers of figures, and warnings keep
// their order.
func (l *load) follow(ctx context.Context, out core.Outputs, pump *metrics.Pump, words live.Watcher, source takt.Source) *following {
	f := &following{faults: l.newInjector(), hide: l.hide, judged: len(l.conditions) > 0}
	f.Watchers = live.Watchers{
		{Begin: f.faults.begin, End: func(r *takt.Report) { l.noteFaults(r, f.faults.end()) }},
		{Second: func(s live.Snapshot) { out.Interval(s.Interval, s.Lent) }},
		words,
	}
	if !l.narrates() {
		f.Watchers = append(f.Watchers, l.display(ctx))
	}
	for _, watcher := range l.env.Watchers {
		f.Watchers = append(f.Watchers, watcher())
	}
	f.Watchers = append(f.Watchers, l.guarded(ctx), live.Watcher{End: func(r *takt.Report) {
		if r != nil {
			l.listFault(source, r)
			l.driverFault(r)
			l.noteEnd(ctx, r)
		}
	}}, live.Watcher{
		Begin:  func(_ live.Head, start time.Time) { pump.Begin(start) },
		Second: func(s live.Snapshot) { pump.Interval(s.Interval, s.Lent) },
		End:    func(r *takt.Report) { l.endExports(pump, r) },
	})
	return f
}

// Begin passes on that the run begins.
func (f *following) Begin(h live.Head, start time.Time) {
	f.overload = h.Overloads()
	f.Watchers.Begin(h, start)
}

// Second adds what happened to the target, and passes the second on.
func (f *following) Second(s live.Snapshot) {
	if f.overload != nil {
		f.overload.Add(&s.Interval)
		s.Overload = f.overload.Now()
	}
	s.Outage, s.Faults, s.Lent = f.newest(), f.faults.soFar(), timeline.Lend(&s.Interval)
	if f.judged {
		_, _ = s.Lent() // here: guarded would wait for a view or an exporter that decodes on a thread of low priority
	}
	f.Watchers.Second(s)
}

// newest is the newest outage; nil: there was none.
func (f *following) newest() *takt.Outage {
	if f.outage == nil {
		return nil
	}
	o, ok := f.outage()
	if !ok {
		return nil
	}
	o.Cause = f.hide(o.Cause)
	return &o
}

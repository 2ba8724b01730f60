package loadcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/screen"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// The values of --progress; a row of the driver table may have one more.
const (
	progressAuto = "auto"
	progressFull = "full"
	progressLine = "line"
	progressNone = "none"
)

func (l *load) progressNames() []string {
	names := []string{progressAuto, progressFull, progressLine, progressNone}
	if l.row.Narration != "" {
		names = append(names, l.row.Narration)
	}
	return names
}

// stepUsage describes the second meaning of --progress, for a Stepper.
func (l *load) stepUsage() string {
	if l.driver.SetStep != nil {
		return "; a number N raises the rate in steps of N up to --tps, each as long as --duration (default 10 s)"
	}
	return ""
}

func (l *load) checkProgress() error {
	for _, name := range l.progressNames() {
		if l.progress == name {
			return nil
		}
	}
	return value.Faultf("unknown --progress %q; use one of %s", l.progress, strings.Join(l.progressNames(), ", "))
}

// watcher shows a run while it goes on.
type watcher struct {
	interval func(takt.Interval, timeline.Lent)
	add      func(live.Snapshot)     // nil: interval is enough
	errors   func([]takt.ErrorClass) // nil: nobody shows the failures
	ended    func()                  // call it after the run
}

// narration is a predecessor's words, which follow the run.
type narration struct {
	interval func(takt.Interval)
	ended    func()
	shown    bool // the words replace the progress
}

// narration lets the driver tell of the run in a predecessor's words. Users who write a
// predecessor's flags get its words. Call it before the driver is opened.
func (l *load) narration() *narration {
	shown := l.progress == progressAuto && (l.row.Narrates || l.env.Settings.Legacy) || l.progress == l.row.Narration
	var w io.Writer = io.Discard
	switch {
	case l.driver.Narrate != nil && shown:
		w = l.env.Stderr
	case l.driver.Follows == nil || !l.driver.Follows():
		return nil
	}
	interval, ended := l.driver.Narrate(w)
	return &narration{interval, ended, shown}
}

// marks are what happened to the target, for those who watch the run.
type marks struct {
	outage func() (takt.Outage, bool) // nil: the driver sees none
	faults *injector
}

// newest is the newest outage; nil: there was none.
func (m marks) newest(hide func(string) string) *takt.Outage {
	if m.outage == nil {
		return nil
	}
	o, ok := m.outage()
	if !ok {
		return nil
	}
	o.Cause = hide(o.Cause)
	return &o
}

// watch returns what to do once a second: write live outputs, export figures and show the progress, which is
// nothing, a line a second, the full view, or a predecessor's words.
func (l *load) watch(ctx context.Context, out core.Outputs, pump *metrics.Pump, words *narration, head live.Head, m marks) watcher {
	w := watcher{interval: func(takt.Interval, timeline.Lent) {}, ended: func() {}}
	if words == nil || !words.shown {
		w = l.picture(ctx, head)
	}
	var failures []takt.ErrorClass
	feed := l.feed(head)
	if w.add != nil || feed != nil {
		w.errors = func(list []takt.ErrorClass) { failures = list }
	}
	shown, over := w.interval, w.ended
	w.interval = func(iv takt.Interval, lent timeline.Lent) {
		out.Interval(iv)
		pump.Interval(iv, lent)
		if words != nil {
			words.interval(iv)
		}
		if w.add != nil || feed != nil {
			snap := live.Snapshot{Interval: iv, Errors: failures, Outage: m.newest(l.hide), Faults: m.faults.soFar(), Lent: lent}
			if w.add != nil {
				w.add(snap)
			}
			if feed != nil {
				feed.Add(snap)
			}
		}
		shown(iv, lent)
	}
	w.ended = sync.OnceFunc(func() {
		if feed != nil {
			feed.Close()
		}
		over()
		if words != nil {
			words.ended()
		}
	})
	return w
}

// feed passes the run on to another process; nil: none shows it.
func (l *load) feed(head live.Head) *live.Feed {
	if l.env.Live == nil {
		return nil
	}
	return live.NewFeed(l.env.Live, head)
}

// picture is the full view, a line a second, or nothing.
func (l *load) picture(ctx context.Context, head live.Head) watcher {
	if l.progress == progressNone {
		return watcher{interval: func(takt.Interval, timeline.Lent) {}, ended: func() {}}
	}
	if v := l.view(head); v != nil {
		v.open(ctx)
		return watcher{interval: func(takt.Interval, timeline.Lent) {}, add: v.add, ended: v.end}
	}
	return l.lines(head)
}

// view returns the full view; nil: a line a second suits the terminal or the run better. Who asks
// for the view gets it wherever takt can move a cursor.
func (l *load) view(head live.Head) *view {
	asked := l.progress == progressFull
	name := l.env.Getenv("TERM")
	if l.progress == progressLine || l.terminal == nil || name == "" || name == "dumb" || !asked && !l.colours || l.fillsTerminal() {
		return nil
	}
	s, err := screen.Open(l.terminal)
	if err != nil {
		return nil
	}
	if !asked && !suits(s, head.End) {
		s.Close()
		return nil
	}
	if program, err := l.program(); err == nil {
		s.Guarded = func() (string, string) { return program, core.GuardCommand }
	}
	v := &view{
		screen: s, state: live.New(head), palette: l.palette(), messages: l.messages, quit: l.quit(),
		startAt: l.startAt, notBefore: time.Now().Add(settled),
	}
	if head.End < 0 && head.Requests > 0 && !asked {
		v.notBefore = time.Now().Add(shortest)
	}
	return v
}

// quit is what the key q does; nil: there is no such key.
func (l *load) quit() func() {
	if l.env.Quit == nil {
		return nil
	}
	return func() {
		l.quitByKey.Store(true)
		l.env.Quit()
	}
}

// program is the path of takt.
func (l *load) program() (string, error) {
	if l.env.Executable == nil {
		return "", errors.ErrUnsupported
	}
	return l.env.Executable()
}

// fillsTerminal reports whether an output writes to the terminal during the run.
func (l *load) fillsTerminal() bool {
	return core.ShowsStdout(l.process) && slices.ContainsFunc(l.outputs.Opened, func(d core.Destination) bool {
		return d.Path == format.Stdout && d.Format.During()
	})
}

// headEvery is the number of lines after which their header comes again.
const headEvery = 20

// lines prints a line a second.
func (l *load) lines(head live.Head) watcher {
	state, n := live.New(head), 0
	return watcher{ended: func() {}, interval: func(iv takt.Interval, lent timeline.Lent) {
		state.Add(live.Snapshot{Interval: iv, Lent: lent})
		if state.Silent() {
			return
		}
		width, text := l.width(), ""
		if n%headEvery == 0 {
			text = state.Header(width, l.palette()) + "\n"
		}
		n++
		fmt.Fprint(l.env.Stderr, text+state.Line(width, l.palette())+"\n")
	}}
}

// width is that of the terminal, at most live.MinWidth: a longer line is harder to read.
func (l *load) width() int {
	if l.terminal == nil {
		return live.MinWidth
	}
	width, _, err := term.GetSize(int(l.terminal.Fd()))
	if err != nil || width < 1 {
		return live.MinWidth
	}
	return min(width, live.MinWidth)
}

func (l *load) palette() live.Palette {
	if !l.colours {
		return live.Mono
	}
	return live.PaletteOf(l.env.Getenv("TERM"), l.env.Getenv("COLORTERM"))
}

// liveHead is what the view shows of the run before it begins.
func (l *load) liveHead(run string, end time.Duration, d *takt.Driver) live.Head {
	h := live.Head{
		Run:     run,
		Command: strings.Join(l.command(), " "), End: end, Warmup: l.engine.Warmup, Drain: l.engine.Drain.Duration(),
		Requests: l.engine.Requests, Room: l.engine.InFlight(), Closed: l.engine.Closed(), OneWay: d.OneWay,
		Receives: d.Loop == nil && d.Async == nil && d.Worker == nil,
	}
	for _, a := range l.requirements.Assertions {
		h.Assertions = append(h.Assertions, a.Text)
	}
	return h
}

package loadcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/screen"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// The values of --progress; a driver's predecessor may have one more.
const (
	progressAuto = "auto"
	progressFull = "full"
	progressLine = "line"
	progressNone = "none"
)

func (l *load) progressNames() []string {
	names := []string{progressAuto, progressFull, progressLine, progressNone}
	if name := l.driver.Predecessor.Name; name != "" {
		names = append(names, name)
	}
	return names
}

// stepUsage describes the second meaning of --progress.
func (l *load) stepUsage() string {
	if l.driver.Predecessor.Step != nil {
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

// narrates reports whether a predecessor's words replace the progress. Users who write a predecessor's
// flags get its words.
func (l *load) narrates() bool {
	p := &l.driver.Predecessor
	if l.env.Fleet != nil || p.Watch == nil {
		return false
	}
	return l.progress == progressAuto && (p.Always || l.env.Settings.Legacy) || l.progress == p.Name
}

// narration tells of the run in a predecessor's words. Call it before the driver is opened.
func (l *load) narration() (w live.Watcher) {
	watch := l.driver.Predecessor.Watch
	switch {
	case watch == nil:
		return w
	case l.narrates():
		return watch(l.env.Stderr)
	}
	return watch(nil)
}

// display is the full view of a run, a line a second, or nothing, as it suits the run.
func (l *load) display(ctx context.Context) live.Watcher {
	var shown live.Watchers
	return live.Watcher{
		Begin: func(head live.Head, start time.Time) {
			switch v := l.view(head); {
			case v != nil:
				v.stopping = ctx.Done()
				shown = live.Watchers{{Begin: v.open, Second: v.add, End: v.end}}
			case l.progress != progressNone:
				shown = live.Watchers{l.lines(head)}
			}
			shown.Begin(head, start)
		},
		Second: func(s live.Snapshot) { shown.Second(s) },
		End:    func(r *takt.Report) { shown.End(r) },
	}
}

// view returns the full view; nil: a line a second suits the terminal or the run better. Who asks
// for the view gets it wherever takt can move a cursor.
func (l *load) view(head live.Head) *view {
	asked := l.progress == progressFull
	name := l.env.Getenv("TERM")
	if l.progress == progressNone || l.progress == progressLine || l.console.terminal == nil || name == "" || name == "dumb" || !asked && !l.console.colours || l.console.busy {
		return nil
	}
	s, err := screen.Open(l.console.terminal)
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
		screen: s, palette: l.palette(), messages: &l.console.messages, quit: l.quit(), notBefore: time.Now().Add(settled),
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
	return core.ShowsStdout(l.env) && slices.ContainsFunc(l.outputs.Opened, func(d core.Destination) bool {
		return d.Path == format.Stdout && d.Format.During()
	})
}

// headEvery is the number of lines after which their header comes again.
const headEvery = 20

// lines prints a line a second, and a line when an overload begins.
func (l *load) lines(head live.Head) live.Watcher {
	state, n, overloaded := live.New(head), 0, false
	return live.Watcher{Second: func(s live.Snapshot) {
		state.Add(s)
		if state.Silent() {
			return
		}
		width, text := l.width(), ""
		if n%headEvery == 0 {
			text = state.Header(width, l.palette()) + "\n"
		}
		n++
		fmt.Fprint(l.env.Stderr, text+state.Line(width, l.palette())+"\n")
		if o := s.Overload; o != nil && !overloaded {
			fmt.Fprintf(l.env.Stderr, "takt: the target is overloaded: %s\n", overload.Words(o))
		}
		overloaded = s.Overload != nil
	}}
}

// width is that of the terminal, at most live.MinWidth: a longer line is harder to read.
func (l *load) width() int {
	if l.console.terminal == nil {
		return live.MinWidth
	}
	width, _, err := term.GetSize(int(l.console.terminal.Fd()))
	if err != nil || width < 1 {
		return live.MinWidth
	}
	return min(width, live.MinWidth)
}

func (l *load) palette() live.Palette {
	if !l.console.colours {
		return live.Mono
	}
	return live.PaletteOf(l.env.Getenv("TERM"), l.env.Getenv("COLORTERM"))
}

// liveHead is what the view shows of the run before it begins.
func (l *load) liveHead(run string, end time.Duration, d *takt.Driver) live.Head {
	h := live.Head{
		Run:     run,
		Command: strings.Join(l.command(), " "), End: end, Warmup: l.engine.Warmup, Drain: l.engine.Drain.Duration(),
		Requests: l.engine.Limit(), Room: l.engine.InFlight(), Closed: l.engine.Closed(), OneWay: d.OneWay,
		Receives: d.Loop == nil && d.Async == nil && d.Worker == nil, Waits: overload.Waits(l.driver.Variables()),
		Timed: l.announced().Courses(),
	}
	for _, a := range l.requirements.Assertions {
		h.Assertions = append(h.Assertions, a.Text)
	}
	return h
}

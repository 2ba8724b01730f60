package loadcmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// The values of --progress; a row of the driver table may have one more.
const (
	progressAuto = "auto"
	progressLine = "line"
	progressNone = "none"
)

func (l *load) progressNames() []string {
	names := []string{progressAuto, progressLine, progressNone}
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

// watch returns what to do once a second: write live outputs and show the progress. Call ended
// after the run.
func (l *load) watch(out core.Outputs) (interval func(takt.Interval), ended func()) {
	shown, ended := l.show()
	return func(iv takt.Interval) {
		out.Interval(iv)
		shown(iv)
	}, ended
}

// show returns how to show the progress: nothing, a line a second, or a predecessor's words.
// Users who write a predecessor's flags get its words.
func (l *load) show() (interval func(takt.Interval), ended func()) {
	narrates := l.progress == progressAuto && (l.row.Narrates || l.env.Settings.Legacy) || l.progress == l.row.Narration
	if l.driver.Narrate != nil && narrates {
		return l.driver.Narrate(l.env.Stderr)
	}
	line := l.lines()
	if l.driver.Follows != nil && l.driver.Follows() {
		follow, ended := l.driver.Narrate(io.Discard)
		return func(iv takt.Interval) { follow(iv); line(iv) }, ended
	}
	return line, func() {}
}

// lines returns a function that prints a line a second, or nothing with --progress none.
func (l *load) lines() func(takt.Interval) {
	if l.progress == progressNone {
		return func(takt.Interval) {}
	}
	before := 0.0
	return func(iv takt.Interval) {
		length := iv.T - before
		before = iv.T
		if length > 0.5 { // skip a short rest after the last full second
			fmt.Fprintln(l.env.Stderr, format.ProgressLine(iv, length))
		}
	}
}

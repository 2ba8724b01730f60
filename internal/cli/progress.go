package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/pkg/takt"
)

// The names of --progress; a row of the driver table may have one more.
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

// stepUsage is what --progress means besides, to a Stepper.
func (l *load) stepUsage() string {
	if l.driver.SetStep != nil {
		return "; a number N is the height of a step on the way to --tps, each as long as --duration, 10 s unless given"
	}
	return ""
}

func (l *load) checkProgress() error {
	for _, name := range l.progressNames() {
		if l.progress == name {
			return nil
		}
	}
	return fmt.Errorf("unknown --progress %q; use one of %s", l.progress, strings.Join(l.progressNames(), ", "))
}

// watch is what happens once a second: outputs that are written as the run goes, and
// what people see of it. ended is for after the run.
func (l *load) watch(out outputs) (interval func(takt.Interval), ended func()) {
	shown, ended := l.show()
	return func(iv takt.Interval) {
		out.interval(iv)
		shown(iv)
	}, ended
}

// show is what people see: nothing, a line a second, or a predecessor's words, which is
// what those want who write its flags.
func (l *load) show() (interval func(takt.Interval), ended func()) {
	narrates := l.progress == progressAuto && (l.row.Narrates || l.env.settings.legacy) || l.progress == l.row.Narration
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

// lines prints a line a second, if anybody wants it.
func (l *load) lines() func(takt.Interval) {
	if l.progress == progressNone {
		return func(takt.Interval) {}
	}
	before := 0.0
	return func(iv takt.Interval) {
		length := iv.T - before
		before = iv.T
		if length > 0.5 { // not what came after the last full second
			fmt.Fprintln(l.env.Stderr, format.ProgressLine(iv, length))
		}
	}
}

package loadcmd

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

func (l *load) addFaultFlag(fs *pflag.FlagSet) {
	fs.Var(value.Starting(value.OwnedList(&l.faultTexts, "--fault runs a command on the server's host, which only its owner may do; run takt there")), "fault",
		"run a `COMMAND@TIME` of the shell that long after the start, such as 'kill -9 123@10s', or from a time to a time, COMMAND@10s..20s; repeatable; the report shows when")
}

// fault is a command of --fault.
type fault struct {
	command  string
	from, to time.Duration // to is 0: until it ends
}

// parseFault reads COMMAND@10s or COMMAND@10s..20s.
func parseFault(text string) (f fault, err error) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return f, value.Faultf("--fault %q has no time; write COMMAND@TIME, such as 'kill -9 123@10s'", text)
	}
	from, to, ranged := strings.Cut(text[at+1:], "..")
	f.command = strings.TrimSpace(text[:at])
	f.from, err = schedule.ParseDuration(from)
	if err == nil && ranged {
		f.to, err = schedule.ParseDuration(to)
	}
	switch {
	case err != nil:
		return f, value.Faultf("the time of --fault %q: %w; write COMMAND@10s, or COMMAND@10s..20s", text, err)
	case f.command == "":
		return f, value.Faultf("--fault %q has no command; write COMMAND@TIME", text)
	case f.from < 0 || ranged && f.to <= f.from:
		return f, value.Faultf("--fault %q ends before it begins; write COMMAND@FROM..TO with a later TO", text)
	}
	return f, nil
}

func (l *load) checkFaults() (faults []error) {
	l.injected = nil
	for _, text := range l.faultTexts {
		f, err := parseFault(text)
		if err != nil {
			faults = append(faults, err)
		}
		l.injected = append(l.injected, f)
	}
	return faults
}

// injector runs the commands of --fault during one run.
type injector struct {
	list   []fault
	hide   func(text string) string
	tell   func(text string)
	ctx    context.Context // ends with the run
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu    sync.Mutex
	begun time.Time
	done  []takt.Fault
	shown []takt.Fault // the begun ones, with what is known so far
}

func (l *load) newInjector() *injector {
	i := &injector{list: l.injected, hide: l.hide, tell: func(string) {}}
	if l.progress != progressNone {
		i.tell = func(text string) { fmt.Fprintf(l.env.Stderr, "takt: %s\n", l.hide(text)) }
	}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	return i
}

// begin starts the clock of the commands; at is the start of the run.
func (i *injector) begin(_ live.Head, at time.Time) {
	i.begun = at
	for _, f := range i.list {
		i.all.Go(func() { i.note(i.inject(f)) })
	}
}

// end ends the commands that still run, and returns what became of all.
func (i *injector) end() []takt.Fault {
	i.cancel()
	i.all.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	slices.SortStableFunc(i.done, func(a, b takt.Fault) int { return cmp.Compare(a.From, b.From) })
	return i.done
}

func (i *injector) note(f takt.Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.done = append(i.done, f)
}

// show notes a command that runs, and returns its place.
func (i *injector) show(f takt.Fault) int {
	f.Command = i.hide(f.Command)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shown = append(i.shown, f)
	return len(i.shown) - 1
}

func (i *injector) showEnd(at int, to float64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shown[at].To = &to
}

// soFar are the commands that began; To is nil while they run.
func (i *injector) soFar() []takt.Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.shown)
}

// now is the time since the start of the run.
func (i *injector) now() time.Duration { return max(0, time.Since(i.begun)) }

// wait waits until an instant of the run, and reports false if the run or over ended first.
func (i *injector) wait(until time.Duration, over <-chan struct{}) bool {
	timer := time.NewTimer(time.Until(i.begun.Add(until)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
	case <-i.ctx.Done():
	}
	return false
}

// faultGrace is how long a command may take to end when takt asks it to.
const faultGrace = 2 * time.Second

// inject runs one command.
func (i *injector) inject(f fault) takt.Fault {
	r := takt.Fault{Command: f.command, From: f.from.Seconds()}
	if !i.wait(f.from, nil) {
		r.Output = "the run ended before"
		return r
	}
	log := process.NewLog()
	cmd := exec.Command("sh", "-c", f.command)
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, proc.WithoutSettings(cmd.Environ())
	r.From = i.now().Seconds()
	child, err := process.Launch(cmd)
	if err != nil {
		r.Output = err.Error()
		return r
	}
	at := i.show(r)
	i.tell(fmt.Sprintf("fault at %.1f s: %s", r.From, f.command))
	r.Stopped = i.over(child, f.to)
	to, code := i.now().Seconds(), child.ExitCode()
	i.showEnd(at, to)
	r.To, r.ExitCode, r.Output = &to, &code, lastOf(log)
	i.tell(fmt.Sprintf("fault over at %.1f s: %s", to, f.command))
	return r
}

// over waits for the end of a command, and ends it at the instant to, or with the run. It reports
// whether takt ended it.
func (i *injector) over(child *process.Child, to time.Duration) bool {
	if to > 0 {
		i.wait(to, child.Done())
	} else {
		select {
		case <-child.Done():
		case <-i.ctx.Done():
		}
	}
	select {
	case <-child.Done():
		return false
	default:
	}
	child.End(faultGrace)
	return true
}

// The last lines of a command's output that a report has.
const (
	faultLines = 5
	faultBytes = 300
)

func lastOf(log *process.Log) string {
	var lines []string
	for _, line := range log.Tail(faultLines, "") {
		lines = append(lines, line.Text)
	}
	text := strings.Join(lines, "\n")
	return strings.ToValidUTF8(text[max(0, len(text)-faultBytes):], "")
}

// noteFaults adds the commands to the report, and warns of those that did not do their work.
func (l *load) noteFaults(r *takt.Report, list []takt.Fault) {
	if r == nil {
		return
	}
	for i := range list {
		f := &list[i]
		f.Command, f.Output = l.hide(f.Command), l.hide(f.Output)
		switch {
		case f.ExitCode == nil:
			r.Warn(warn.Fault, "the command of --fault %q did not start: %s", f.Command, f.Output)
		case *f.ExitCode > 0 && !f.Stopped:
			r.Warn(warn.Fault, "the command of --fault %q ended with exit code %d, so what it was to cause may not have happened; its output: %q", f.Command, takt.Number("exit_code", *f.ExitCode), f.Output)
		}
	}
	r.Faults = list
	for i := range r.Outages {
		r.Outages[i].Cause = l.hide(r.Outages[i].Cause)
	}
}

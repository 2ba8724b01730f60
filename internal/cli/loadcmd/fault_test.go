package loadcmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/takt"
)

func TestParseFault(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		text string
		want fault
		err  string
	}{
		{"kill -9 12@10s", fault{"kill -9 12", 10 * s, 0}, ""},
		{"ssh root@a reboot@1m", fault{"ssh root@a reboot", 60 * s, 0}, ""},
		{"tc qdisc add@10s..20s", fault{"tc qdisc add", 10 * s, 20 * s}, ""},
		{" true @0s", fault{"true", 0, 0}, ""},
		{"kill -9 12", fault{}, "has no time"},
		{"ssh root@a", fault{}, "the time of --fault"},
		{"@10s", fault{}, "has no command"},
		{"x@20s..10s", fault{}, "ends before it begins"},
		{"x@-1s", fault{}, "--fault"},
		{"x@10s..", fault{}, "the time of --fault"},
	} {
		got, err := parseFault(c.text)
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && (err != nil || got != c.want) {
			t.Errorf("%q: %+v %v, want %+v %s", c.text, got, err, c.want, c.err)
		}
	}
}

// injected runs commands from now on until over returns.
func injected(t *testing.T, list []fault, over func(i *injector)) []takt.Fault {
	t.Helper()
	i := (&load{injected: list, progress: progressNone}).newInjector()
	i.begin(live.Head{}, time.Now())
	over(i)
	return i.end()
}

// ended waits until commands have ended by themselves.
func (i *injector) ended(t *testing.T, commands ...string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		left := len(commands)
		for _, f := range i.soFar() {
			if f.To != nil && slices.Contains(commands, f.Command) {
				left--
			}
		}
		if left == 0 {
			return
		}
	}
	t.Fatalf("the commands %q have not ended: %+v", commands, i.soFar())
}

func TestFaults(t *testing.T) {
	const says, later = "echo one; echo two >&2; exit 3", "true"
	list := injected(t, []fault{
		{says, 0, 0},
		{"sleep 1000", 0, 50 * time.Millisecond},
		{"sleep 1000", 0, 0},
		{later, 200 * time.Millisecond, 0},
		{"exit 1", time.Hour, 0},
	}, func(i *injector) { i.ended(t, says, later) })
	if len(list) != 5 {
		t.Fatalf("%+v", list)
	}
	stopped := 0
	for _, f := range list {
		switch {
		case f.Command == says:
			if *f.ExitCode != 3 || f.Stopped || f.Output != "one\ntwo" || *f.To < f.From {
				t.Errorf("%+v", f)
			}
		case f.Command == "sleep 1000":
			if f.Stopped && *f.ExitCode < 0 {
				stopped++
			}
		case f.Command == later:
			if f.From < 0.2 || f.Stopped {
				t.Errorf("%+v", f)
			}
		default:
			if f.To != nil || f.ExitCode != nil || f.From != 3600 || f.Output != "the run ended before" {
				t.Errorf("%+v", f)
			}
		}
	}
	if stopped != 2 {
		t.Errorf("takt ended %d of 2 commands: %+v", stopped, list)
	}
}

// The report has no secrets of commands, and names those that did not do their work.
func TestNoteFaults(t *testing.T) {
	one, zero, minus := 1, 0, -1
	l := &load{scrub: &core.Scrubber{}}
	r := &takt.Report{Outages: []takt.Outage{{Cause: "http://u:tiger@h/ is away"}}}
	l.noteFaults(r, []takt.Fault{
		{Command: "curl http://u:tiger@h/", ExitCode: &one, Output: "cannot get http://u:tiger@h/"}, {Command: "b", ExitCode: &zero},
		{Command: "c", ExitCode: &minus, Stopped: true}, {Command: "d", Output: "the run ended before"},
	})
	if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0].Message, "exit code 1") || !strings.Contains(r.Warnings[1].Message, "did not start") {
		t.Errorf("%+v", r.Warnings)
	}
	for _, text := range []string{r.Faults[0].Command, r.Faults[0].Output, r.Warnings[0].Message, r.Outages[0].Cause} {
		if strings.Contains(text, "tiger") {
			t.Errorf("a secret is shown: %s", text)
		}
	}
}

// A command does not see takt's settings, which may contain secrets.
func TestFaultEnvironment(t *testing.T) {
	t.Setenv("TAKT_BEARER", "tigerlily")
	t.Setenv("FAULT_OWN", "seen")
	dir := t.TempDir()
	path := filepath.Join(dir, "env")
	command := "env > " + path
	injected(t, []fault{{command: command}}, func(i *injector) { i.ended(t, command) })
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "tigerlily") || !strings.Contains(string(text), "FAULT_OWN=seen") {
		t.Errorf("%v\n%s", err, text)
	}
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
)

// pty is a terminal whose user is the test.
type pty struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	before unix.Termios
	reader sync.WaitGroup

	mu   sync.Mutex
	seen bytes.Buffer // what the program wrote to the terminal
}

func newPty(t *testing.T, width, height uint16) *pty {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	p := &pty{t: t, master: master}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	p.must(err)
	p.must(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	p.slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	p.must(err)
	p.resize(width, height)
	p.before = p.mode()
	t.Cleanup(func() {
		p.slave.Close()
		master.Close()
		p.reader.Wait()
	})
	return p
}

// reads begins to read what programs write. Until then the terminal soon accepts no more.
func (p *pty) reads() *pty {
	p.reader.Go(p.read)
	return p
}

func (p *pty) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *pty) read() {
	for b := make([]byte, 4096); ; {
		n, err := p.master.Read(b)
		p.mu.Lock()
		p.seen.Write(b[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *pty) mode() unix.Termios {
	m, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	p.must(err)
	return *m
}

func (p *pty) resize(width, height uint16) {
	p.must(unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}))
}

// press types keys.
func (p *pty) press(keys string) {
	_, err := p.master.WriteString(keys)
	p.must(err)
}

// waitFor waits until the program has written text.
func (p *pty) waitFor(text string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(p.text(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("the terminal never showed %q; it showed %q", text, p.text())
		}
	}
}

// start runs takt on the terminal, with standard output apart.
func (p *pty) start(env []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	var stdout bytes.Buffer
	home := p.t.TempDir()
	cmd := exec.Command("takt", args...)
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home, "TERM=xterm-256color", "CI=", "NO_COLOR=")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, &stdout, p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	p.must(cmd.Start())
	p.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, &stdout
}

// restored fails the test unless the terminal is as before takt.
func (p *pty) restored() {
	p.t.Helper()
	if m := p.mode(); m != p.before {
		p.t.Errorf("the mode of the terminal is %+v, was %+v", m, p.before)
	}
	const normal = "\x1b[?1049l"
	p.waitFor(normal)
	if seen := p.text(); strings.LastIndex(seen, "\x1b[?1049h") > strings.LastIndex(seen, normal) || !strings.Contains(seen, "\x1b[?25h") || !strings.Contains(seen, "\x1b[?7h") {
		p.t.Errorf("the terminal is left with %q", seen[max(0, len(seen)-200):])
	}
}

const entered = "\x1b[?1049h"

// However a run ends, the terminal is as before and the report is complete.
func TestViewRestoresTheTerminal(t *testing.T) {
	server := targettest.Serve(t, target.Options{Service: "1ms"})
	for name, c := range map[string]struct {
		length string
		flags  []string
		end    func(p *pty, cmd *exec.Cmd)
		code   int
	}{
		"its end":         {"1s", nil, func(*pty, *exec.Cmd) {}, 0},
		"Ctrl-C":          {"10m", nil, func(p *pty, _ *exec.Cmd) { p.press("\x03") }, 130},
		"Ctrl-C, twice":   {"10m", nil, func(p *pty, _ *exec.Cmd) { p.press("\x03"); p.press("\x03") }, 130},
		"q":               {"10m", nil, func(p *pty, _ *exec.Cmd) { p.press("q") }, 130},
		"q in the pause":  {"10m", nil, func(p *pty, _ *exec.Cmd) { p.press(" "); p.waitFor("paused"); p.press("q") }, 130},
		"SIGTERM":         {"10m", nil, func(_ *pty, cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) }, 143},
		"a condition":     {"10m", []string{"--abort-on", "ok>0"}, func(*pty, *exec.Cmd) {}, 3},
		"a full report":   {"1s", []string{"-o", "json=/dev/full"}, func(*pty, *exec.Cmd) {}, 1},
		"a failed target": {"1s", []string{"--fail-on", "2xx"}, func(*pty, *exec.Cmd) {}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPty(t, 100, 30).reads()
			cmd, stdout := p.start(nil, append([]string{"http", "--progress", "full", "--rate", "200/s", "-z", c.length, server.URL()}, c.flags...)...)
			p.waitFor(entered)
			if c.length == "10m" && c.flags == nil { // a condition may end the run before its second is shown
				p.waitFor("max ") // a second is over
			}
			c.end(p, cmd)
			_ = cmd.Wait()
			busy := c.code == core.ExitAssertion // where the machine delays the run, it ends as invalid
			if code := cmd.ProcessState.ExitCode(); code != c.code && !(busy && code == core.ExitInvalid) {
				t.Errorf("exit code %d, want %d; the terminal showed %q", code, c.code, p.text())
			}
			p.restored()
			if !strings.Contains(stdout.String(), "response") || strings.Contains(stdout.String(), "\x1b") {
				t.Errorf("standard output: %q", stdout)
			}
		})
	}
}

// A process that dies leaves the terminal to its guard, which also shows why.
func TestViewGuardsTheTerminal(t *testing.T) {
	server := targettest.Serve(t, target.Options{Service: "1ms"})
	for name, c := range map[string]struct {
		signal syscall.Signal
		says   string
	}{
		"a crash": {syscall.SIGSEGV, "SIGSEGV"}, // as a panic in any goroutine ends the process
		"SIGKILL": {syscall.SIGKILL, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPty(t, 100, 30).reads()
			cmd, _ := p.start(nil, "http", "--progress", "full", "--rate", "200/s", "-z", "10m", server.URL())
			p.waitFor("max ")
			_ = cmd.Process.Signal(c.signal)
			_ = cmd.Wait()
			p.waitFor("\x1b[?1049l")
			if _, after, _ := strings.Cut(p.text(), "\x1b[?1049l"); c.says != "" {
				p.waitFor("goroutine ")
				if !strings.Contains(p.text(), c.says) {
					t.Errorf("after the view the terminal shows %q", after)
				}
			}
			p.restored()
		})
	}
}

// A terminal that accepts nothing does not delay the run, and is restored when it does.
func TestViewOnAStoppedTerminal(t *testing.T) {
	server := targettest.Serve(t, target.Options{Service: "1ms"})
	p := newPty(t, 200, 60)
	cmd, stdout := p.start(nil, "http", "--progress", "full", "--rate", "200/s", "-z", "3s", "--no-store", server.URL())
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(stdout.String(), "600 scheduled") {
		t.Errorf("exit code %d, and standard output %q", code, stdout)
	}
	p.reads()
	p.restored()
}

// The view follows the size of its terminal, and pauses without pausing the run.
func TestViewFollowsTheTerminal(t *testing.T) {
	server := targettest.Serve(t, target.Options{Service: "1ms"})
	p := newPty(t, 80, 24).reads()
	cmd, stdout := p.start(nil, "http", "--rate", "100/s", "-z", "10m", "--progress", "full", server.URL())
	p.waitFor("\x1b[24;1H\x1b[K")
	p.resize(120, 40)
	p.waitFor("\x1b[40;1H\x1b[K")
	p.press("?")
	p.waitFor("close this help")
	p.press("?")
	p.press(" ")
	p.waitFor("paused")
	p.press(" ")
	p.press("\x1b[A\x1b[1;5Qq") // an arrow and Ctrl-F2 are not keys of the view
	p.waitFor("\x1b[?1049l")
	_ = cmd.Wait()
	p.restored()
	if !strings.Contains(stdout.String(), "intended 100/s") && !strings.Contains(stdout.String(), "response") {
		t.Errorf("standard output: %q", stdout)
	}
}

// By default the view needs a terminal that can show it. Everywhere else there is a line a second.
func TestWhereTheViewIs(t *testing.T) {
	server := targettest.Serve(t, target.Options{Service: "1ms"})
	for name, c := range map[string]struct {
		width, height uint16
		env           []string
		flags         []string
		view, colours bool
	}{
		"a terminal":      {80, 24, nil, nil, true, true},
		"a small one":     {79, 24, nil, nil, false, true},
		"a dumb one":      {80, 24, []string{"TERM=dumb"}, []string{"--progress", "full"}, false, false},
		"in CI":           {80, 24, []string{"CI=true"}, nil, false, false},
		"no colours":      {80, 24, []string{"NO_COLOR=1"}, nil, false, false},
		"no colours, but": {80, 24, []string{"NO_COLOR=1"}, []string{"--progress", "full"}, true, false},
		"a line":          {80, 24, nil, []string{"--progress", "line"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPty(t, c.width, c.height).reads()
			cmd, _ := p.start(c.env, append([]string{"http", "--rate", "100/s", "-z", "10m", "--fail-on", "2xx", server.URL()}, c.flags...)...)
			if c.view {
				p.waitFor("max ") // a second is over
			} else {
				p.waitFor("failed")
				p.waitFor("ms") // a latency
			}
			_ = cmd.Process.Signal(syscall.SIGINT)
			_ = cmd.Wait()
			seen := p.text()
			if view := strings.Contains(seen, entered); view != c.view {
				t.Errorf("the view: %v, want %v; the terminal showed %q", view, c.view, seen)
			}
			if colours := strings.Contains(seen, ";31m"); colours != c.colours {
				t.Errorf("colours: %v, want %v; the terminal showed %q", colours, c.colours, seen)
			}
		})
	}
}

// A process in the background, or whose standard error is another file, uses no terminal.
func TestViewNeedsItsTerminal(t *testing.T) {
	server := targettest.Serve(t, target.Options{Service: "1ms"})
	p := newPty(t, 80, 24).reads()
	said := filepath.Join(t.TempDir(), "stderr")
	cmd := exec.Command("sh", "-c", "takt http --no-store --progress full --rate 100/s -z 1s "+server.URL()+" 2>"+said)
	cmd.Env = append(os.Environ(), "TERM=xterm", "CI=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.must(cmd.Run())
	text, err := os.ReadFile(said)
	p.must(err)
	if seen := p.text(); strings.Contains(seen, entered) || strings.Contains(string(text), "\x1b") || !strings.Contains(string(text), "in flight") {
		t.Errorf("the terminal showed %q, and standard error has %q", seen, text)
	}
}

// A page of HTML does not fill a terminal, but goes to files and devices.
func TestNoPageOnATerminal(t *testing.T) {
	p := newPty(t, 80, 24).reads()
	dir := t.TempDir()
	run := filepath.Join(dir, "run.json")
	report, err := os.ReadFile("../../internal/format/testdata/closed/report.json")
	p.must(err)
	p.must(os.WriteFile(run, report, 0o600))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	p.must(err)
	defer null.Close()
	for _, c := range []struct {
		to   *os.File
		args []string
		code int
	}{
		{p.slave, []string{"show", run, "-o", "html=-"}, 2},
		{p.slave, []string{"compare", run, run, "-o", "html"}, 2},
		{p.slave, []string{"collate", "host", "-o", "html"}, 2},
		{p.slave, []string{"history", "-o", "html=-"}, 2},
		{null, []string{"show", run, "-o", "html=-"}, 0},
	} {
		var stderr bytes.Buffer
		cmd := exec.Command("takt", c.args...)
		cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_STATE_HOME="+dir)
		cmd.Stdout, cmd.Stderr = c.to, &stderr
		_ = cmd.Run() // its exit code is checked
		if code := cmd.ProcessState.ExitCode(); code != c.code || c.code == 2 && !strings.Contains(stderr.String(), "write a file with -o html=page.html") {
			t.Errorf("%v: exit code %d, %s", c.args, code, &stderr)
		}
	}
}

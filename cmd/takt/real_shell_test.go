//go:build real

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests of this file use takt server through Debian's telnet and rlwrap, in a terminal.

// built builds takt.
func built(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "takt")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// serveShell starts the shell on a free port and returns the port.
func serveShell(t *testing.T, binary string, flags ...string) (port string) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(binary, append([]string{"-server", "--addr", "127.0.0.1:0"}, flags...)...)
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // "exit status 130"
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line[strings.LastIndex(line, ":")+1:])
}

// terminal is a program in a pseudo terminal.
type terminal struct {
	t    *testing.T
	pty  *os.File
	text chan string
	all  strings.Builder
	seen int // length of the part of all that shows has matched
}

// atTerminal starts a program in a terminal of that size.
func atTerminal(t *testing.T, columns, rows uint16, name string, args ...string) *terminal {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(pty.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Env = append(os.Environ(), "TERM=xterm", "HOME="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	term := &terminal{t: t, pty: pty, text: make(chan string)}
	go func() {
		defer close(term.text)
		b := make([]byte, 4096)
		for {
			n, err := pty.Read(b)
			if n > 0 {
				term.text <- string(b[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // "signal: killed", unless it has ended
		_ = pty.Close()
		for range term.text {
		}
	})
	return term
}

// keys presses keys.
func (x *terminal) keys(keys string) {
	x.t.Helper()
	if _, err := x.pty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// shows waits until the screen shows each text, one after the other.
func (x *terminal) shows(texts ...string) {
	x.t.Helper()
	late := time.After(20 * time.Second)
	for _, text := range texts {
		for !strings.Contains(x.all.String()[x.seen:], text) {
			select {
			case s, ok := <-x.text:
				if !ok {
					x.t.Fatalf("the program ended without %q: %q", text, x.all.String())
				}
				x.all.WriteString(s)
			case <-late:
				x.t.Fatalf("no %q in %q", text, x.all.String()[x.seen:])
			}
		}
		x.seen += strings.Index(x.all.String()[x.seen:], text) + len(text)
	}
}

const keyUp = "\x1b[A"

func TestRealTelnet(t *testing.T) {
	binary := built(t)
	t.Run("rlwrap", func(t *testing.T) { testRlwrap(t, serveShell(t, binary)) })
	t.Run("telnet", func(t *testing.T) { testTelnet(t, serveShell(t, binary)) })
	t.Run("edit", func(t *testing.T) { testEdit(t, serveShell(t, binary, "--edit")) })
}

// With rlwrap the user has rlwrap's editing and history, and rlwrap does not complain.
func testRlwrap(t *testing.T, port string) {
	x := atTerminal(t, 80, 24, "rlwrap", "telnet", "127.0.0.1", port)
	x.shows("type 'help'", ">>> ")
	x.keys("staus\x1b[D\x1b[Dt\r") // inserts a letter, two positions to the left
	x.shows("commands queued", ">>> ")
	x.keys(keyUp + "\r")
	x.shows("commands queued", ">>> ")
	x.keys("nonsense\r")
	x.shows(`unknown command "nonsense"`, ">>> ")
	x.keys(keyUp + keyUp + "\r")
	x.shows("commands queued", ">>> ")
	x.keys("quit\r")
	x.shows("bye!")
	if text := x.all.String(); strings.Contains(text, "appears to do nothing") {
		t.Errorf("rlwrap complains: %s", text)
	}
}

// A plain telnet sends lines. After Ctrl-C the shell must still answer. After "edit on" the server's
// own editing works, even in a window of unknown size.
func testTelnet(t *testing.T, port string) {
	x := atTerminal(t, 0, 0, "telnet", "127.0.0.1", port)
	x.shows("type 'help'", ">>> ")
	x.keys("stat")
	x.keys("\x03")
	x.keys("status\r")
	x.shows("commands queued", ">>> ")
	x.keys("edit on\r")
	x.shows(">>> ")
	x.keys("statux\x7fs\r")
	x.shows("commands queued", ">>> ")
	x.keys(keyUp + "\r")
	x.shows("commands queued", ">>> ")
	x.keys("nonsense\x03queue\r")
	x.shows("the queue is empty", ">>> ")
	x.keys("stat\t\r") // completed
	x.shows("commands queued", ">>> ")
	x.keys("edit off\r")
	x.shows(">>> ")
	x.keys("queue\r")
	x.shows("the queue is empty", ">>> ")
	x.keys("quit\r")
	x.shows("bye!")
}

// With --edit a session begins with the server's editing.
func testEdit(t *testing.T, port string) {
	x := atTerminal(t, 100, 30, "telnet", "127.0.0.1", port)
	x.shows(">>> ")
	x.keys("queue\r")
	x.shows("the queue is empty", ">>> ")
	x.keys("\x04") // Ctrl-D ends the session
	x.shows("closed by foreign host")
}

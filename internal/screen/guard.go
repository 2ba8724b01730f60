//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package screen

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

// released is what a guard reads last when the terminal was restored without it.
const released = 0

// crashRoom limits the text of a crash: its cause comes first.
const crashRoom = 256 << 10

// modes are the settings of the terminal before the view, and those of the view.
type modes struct{ Before, View mode }

// guard is a process that restores the terminal if takt dies without doing it: by a panic in any
// goroutine, or by SIGKILL. Nothing in a dying process can do that.
type guard struct {
	pipe *os.File
	cmd  *exec.Cmd
}

// startGuard starts program with the word as its argument, whose process calls Guard; nil: it did
// not start, and the terminal has no guard.
func startGuard(program, word string, tty *os.File, m modes) *guard {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := &exec.Cmd{Path: program, Args: []string{"takt", word}, Stdin: r, Stderr: tty}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for the guard
	if cmd.Start() != nil {
		_ = w.Close()
		return nil
	}
	go func() { _ = cmd.Wait() }()
	g := &guard{w, cmd}
	if json.NewEncoder(w).Encode(m) != nil || debug.SetCrashOutput(w, debug.CrashOptions{}) != nil {
		g.release(true)
		return nil
	}
	return g
}

// release ends the guard, which restores the terminal unless that was done.
func (g *guard) release(restored bool) {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	if restored {
		_, _ = g.pipe.Write([]byte{released})
	}
	_ = g.pipe.Close()
}

// Guard waits for the end of the process that writes to in, and restores the terminal if that
// process did not. The text of a crash was on the alternate screen, so Guard prints it again.
func Guard(in io.Reader, tty *os.File) error {
	signal.Ignore(unix.SIGTTOU) // a process in the background may set the mode then
	lines := bufio.NewReader(io.LimitReader(in, crashRoom))
	head, err := lines.ReadBytes('\n')
	if err != nil {
		return nil // the process ended before it began
	}
	var m modes
	if err := json.Unmarshal(head, &m); err != nil {
		return err
	}
	text, err := io.ReadAll(lines)
	if err != nil {
		return err
	}
	if n := len(text); n > 0 && text[n-1] == released {
		return nil
	}
	fd := int(tty.Fd())
	if now, err := unix.IoctlGetTermios(fd, getMode); err == nil && mode(*now) == m.View { // else the shell was faster
		_ = m.Before.restore(fd)
	}
	_, err = tty.WriteString(leave + string(text))
	return err
}

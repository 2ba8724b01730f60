//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package screen

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// mode is a terminal's settings.
type mode unix.Termios

// keyByKey makes the terminal pass on every key at once, without showing it, and returns the
// settings of before and those that apply now. Keys of signals stay: Ctrl-C reaches the process as
// it always does.
func keyByKey(fd int) (m modes, err error) {
	t, err := unix.IoctlGetTermios(fd, getMode)
	if err != nil {
		return m, err
	}
	m.Before = mode(*t)
	t.Lflag &^= unix.ICANON | unix.ECHO
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 0, 2 // a read ends after 0.2 s, so that it can be ended
	m.View = mode(*t)
	return m, unix.IoctlSetTermios(fd, setMode, t)
}

func (m *mode) restore(fd int) error { return unix.IoctlSetTermios(fd, setMode, (*unix.Termios)(m)) }

// owns reports whether the terminal controls this process and the process is in the foreground.
func owns(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Suspensions returns a channel that receives Ctrl-Z in place of the process, and a function that
// ends this.
func Suspensions() (c <-chan os.Signal, stop func()) {
	list := make(chan os.Signal, 1)
	signal.Notify(list, unix.SIGTSTP)
	return list, func() { signal.Stop(list) }
}

// Suspend stops this process until somebody continues it.
func Suspend() { _ = unix.Kill(unix.Getpid(), unix.SIGSTOP) }

//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package screen

import "golang.org/x/sys/unix"

const (
	getMode = unix.TIOCGETA
	setMode = unix.TIOCSETA
)

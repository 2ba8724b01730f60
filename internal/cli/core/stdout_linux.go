package core

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// wasClosed reports whether standard output was closed when the process began (>&-). Go then
// opens /dev/null in its place, for reading and writing; a shell's >/dev/null is for writing
// only. If standard input or error is such a /dev/null, too, takt is probably a daemon.
func wasClosed() bool {
	return isNull(syscall.Stdout) && !isNull(syscall.Stdin) && !isNull(syscall.Stderr)
}

// isNull reports whether fd is /dev/null, open for reading and writing.
func isNull(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	var is, null unix.Stat_t
	return unix.Fstat(fd, &is) == nil && unix.Stat(os.DevNull, &null) == nil && is.Mode&unix.S_IFMT == unix.S_IFCHR && is.Rdev == null.Rdev
}

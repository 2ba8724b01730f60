package cli

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// wasClosed reports whether standard output was closed when the process began (>&-). Go
// opens /dev/null for reading and writing in its place, which a shell's >/dev/null does
// not. A daemon has such a /dev/null at more of the three.
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

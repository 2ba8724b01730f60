//go:build linux && (amd64 || arm64)

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// scopeVersion is the first version of Landlock that knows scopes, of Linux 6.12.
const scopeVersion = 6

// scope keeps this thread, and the program that it becomes, from abstract unix sockets of others:
// they belong to the network, which is not confined. Older kernels cannot do this.
func scope() error {
	version, _, _ := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if int(version) < scopeVersion { // -1 without Landlock
		return nil
	}
	a := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}
	fd, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0)
	if e != 0 {
		return e
	}
	if _, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); e != 0 {
		return e
	}
	return unix.Close(int(fd))
}

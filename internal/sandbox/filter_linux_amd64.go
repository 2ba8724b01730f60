package sandbox

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// archRules are calls that newer architectures lack.
func archRules() []rule {
	return []rule{
		{call: unix.SYS_CHMOD, answer: unix.EPERM, arg: 1, bits: setIDs},
		{call: unix.SYS_CREAT, answer: unix.EPERM, arg: 1, bits: setIDs},
		{call: unix.SYS_MKNOD, answer: unix.EPERM, arg: 1, bits: setIDs},
		{call: unix.SYS_OPEN, answer: unix.EPERM, arg: 2, bits: setIDs, only: creates},
	}
}

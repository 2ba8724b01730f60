//go:build linux && (amd64 || arm64)

package sandbox

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A file with a set-user-ID bit in a clone would run with the rights of the clone's owner, for every
// user who can reach it: the bits must not come to the disk. The rest of the list needs rights that
// the program lacks; it keeps the program away from large and young parts of the kernel.

// setIDs are the bits of a mode that change the user or the group of a program.
const setIDs = unix.S_ISUID | unix.S_ISGID

// creates are the flags of open with which its mode counts.
const creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// rule refuses a system call.
type rule struct {
	call   int
	answer unix.Errno
	arg    int    // number of the argument that decides; -1: always refuse
	bits   uint32 // refused if one of them is set in this argument
	only   uint32 // and one of these in the argument before; 0: not looked at
}

// commonRules are those of all architectures.
func commonRules() []rule {
	rules := []rule{
		{call: unix.SYS_FCHMOD, answer: unix.EPERM, arg: 1, bits: setIDs},
		{call: unix.SYS_FCHMODAT, answer: unix.EPERM, arg: 2, bits: setIDs},
		{call: unix.SYS_FCHMODAT2, answer: unix.EPERM, arg: 2, bits: setIDs},
		{call: unix.SYS_MKNODAT, answer: unix.EPERM, arg: 2, bits: setIDs},
		{call: unix.SYS_OPENAT, answer: unix.EPERM, arg: 3, bits: setIDs, only: creates},
		{call: unix.SYS_CLONE, answer: unix.EPERM, arg: 0, bits: unix.CLONE_NEWUSER},
		{call: unix.SYS_UNSHARE, answer: unix.EPERM, arg: 0, bits: unix.CLONE_NEWUSER},
		{call: unix.SYS_CLONE3, answer: unix.ENOSYS, arg: -1}, // its flags are in memory; programs then use clone
		{call: unix.SYS_OPENAT2, answer: unix.ENOSYS, arg: -1},
		{call: unix.SYS_IO_URING_SETUP, answer: unix.ENOSYS, arg: -1}, // it opens files without these calls
	}
	for _, call := range []int{
		unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
		unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK,
		unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT,
	} {
		rules = append(rules, rule{call: call, answer: unix.EPERM, arg: -1})
	}
	return rules
}

// Offsets in struct seccomp_data.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16 // 8 bytes each, the low half first
)

const (
	load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	ifIs   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	ifOver = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	ifHas  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	answer = unix.BPF_RET | unix.BPF_K
)

func refuse(e unix.Errno) unix.SockFilter {
	return unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(e)}
}

var pass = unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW}

// code is the rule as a program, which the number of the call enters and leaves.
func (r *rule) code() (c []unix.SockFilter) {
	argument := func(n int) unix.SockFilter { return unix.SockFilter{Code: load, K: uint32(offsetArgs + 8*n)} }
	if r.arg >= 0 {
		if r.only != 0 {
			c = append(c, argument(r.arg-1), unix.SockFilter{Code: ifHas, K: r.only, Jt: 1}, pass)
		}
		c = append(c, argument(r.arg), unix.SockFilter{Code: ifHas, K: r.bits, Jt: 1}, pass)
	}
	c = append(c, refuse(r.answer))
	return append([]unix.SockFilter{{Code: ifIs, K: uint32(r.call), Jf: uint8(len(c))}}, c...)
}

// otherCalls is where the numbers of another calling convention begin: those of x32, on amd64.
const otherCalls = 1 << 30

// program is the whole filter.
func program() []unix.SockFilter {
	all := []unix.SockFilter{
		{Code: load, K: offsetArch}, {Code: ifIs, K: arch, Jt: 1}, refuse(unix.ENOSYS),
		{Code: load, K: offsetCall}, {Code: ifOver, K: otherCalls, Jf: 1}, refuse(unix.ENOSYS),
	}
	for _, r := range append(commonRules(), archRules()...) {
		all = append(all, r.code()...)
	}
	return append(all, pass)
}

// filter refuses system calls to this thread, and to the program that it becomes.
func filter() error {
	code := program()
	if len(code) > math.MaxUint16 {
		return unix.E2BIG
	}
	p := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if _, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p))); e != 0 {
		return e
	}
	return nil
}

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPlan limits the text of a plan, in bytes.
const maxPlan = 1 << 20

// Enter reads a plan, sets the sandbox up around this process, and becomes the program. The process
// is the first of its PID namespace, so the kernel ends everything in it when the program ends.
func Enter(in io.Reader) error {
	var p plan
	if err := json.NewDecoder(io.LimitReader(in, maxPlan)).Decode(&p); err != nil {
		return fmt.Errorf("no plan on standard input: %w", err)
	}
	runtime.LockOSThread() // rights and filters belong to a thread, and the program inherits those of this one
	if os.Getpid() != 1 {
		return fmt.Errorf("%s is for takt itself", Entry)
	}
	for _, file := range p.Groups {
		if err := os.WriteFile(file, []byte("0"), 0); err != nil {
			return fmt.Errorf("cannot join a control group: %w", err)
		}
	}
	for _, step := range []func() error{p.view, p.input, p.limit, p.drop} {
		if err := step(); err != nil {
			return err
		}
	}
	path, err := exec.LookPath(p.Args[0])
	if err != nil {
		return fmt.Errorf("%w; programs outside /usr need --sandbox-see", err)
	}
	if err := scope(); err != nil {
		return fmt.Errorf("cannot leave abstract sockets: %w", err)
	}
	if err := filter(); err != nil { // last: it forbids what the steps before need
		return fmt.Errorf("cannot filter system calls: %w", err)
	}
	return fmt.Errorf("cannot start %s: %w", path, syscall.Exec(path, p.Args, os.Environ()))
}

// input replaces the pipe of the plan by /dev/null, and lets no other file pass.
func (p *plan) input() error {
	null, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err == nil {
		err = unix.Dup3(null, 0, 0)
	}
	if err == nil {
		err = unix.CloseRange(firstExtra, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	}
	return err
}

// limit sets the limits of this process and its children. If memory is short, the kernel ends them
// before takt.
func (p *plan) limit() error {
	for what, most := range map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_NPROC: uint64(p.Tasks), unix.RLIMIT_NOFILE: maxFiles, unix.RLIMIT_FSIZE: maxFileSize, unix.RLIMIT_MEMLOCK: 64 << 10, unix.RLIMIT_MSGQUEUE: 0,
	} {
		var had unix.Rlimit
		if err := unix.Getrlimit(what, &had); err != nil {
			return err
		}
		most = min(most, had.Max)
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("cannot set a limit: %w", err)
		}
	}
	return os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}

// drop gives up all rights of takt.
func (p *plan) drop() error {
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && err != unix.ENOSYS && err != unix.EPERM { // else the program has takt's keys
		return fmt.Errorf("cannot leave takt's keys: %w", err)
	}
	for capability := range uintptr(unix.CAP_LAST_CAP + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && err != unix.EINVAL {
			return fmt.Errorf("cannot drop capabilities: %w", err)
		}
	}
	if p.UID >= 0 {
		if err := syscall.Setgroups(nil); err != nil {
			return fmt.Errorf("cannot leave takt's groups: %w", err)
		}
		if err := syscall.Setresgid(p.GID, p.GID, p.GID); err != nil {
			return fmt.Errorf("cannot become the group %d: %w", p.GID, err)
		}
		if err := syscall.Setresuid(p.UID, p.UID, p.UID); err != nil {
			return fmt.Errorf("cannot become the user %d: %w", p.UID, err)
		}
	}
	none := [2]unix.CapUserData{}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("cannot drop capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil { // a change of the user clears it
		return err
	}
	return os.Chdir(p.Dir)
}

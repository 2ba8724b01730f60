package shell_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// probe makes one attempt to leave a sandbox, and returns 0 if it succeeds.
func probe(name string, args []string) int {
	if name == "batch" {
		return batch(args[0])
	}
	try := probes()[name]
	if try == nil {
		fmt.Println("unknown attempt", name)
		return 0 // is to be noticed
	}
	if err := try(args); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// batch makes the attempts that a file lists, and prints their outcomes as attempts.sh does.
func batch(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for line := range strings.Lines(string(text)) {
		name, words, _ := strings.Cut(strings.TrimSpace(line), "\t")
		f := strings.Fields(words)
		outcome := "SUCCEEDED"
		if try := probes()[f[0]]; try == nil {
			outcome = "unknown"
		} else if err := try(f[1:]); err != nil {
			outcome = fmt.Sprintf("refused %q", err)
		}
		fmt.Printf("ATTEMPT %s: %s\n", name, outcome)
	}
	return 0
}

// probes are attempts that a shell script cannot make. If one succeeds, it must not harm the machine.
func probes() map[string]func([]string) error {
	return map[string]func([]string) error{
		"seize":     func(a []string) error { return errnoOf(unix.SYS_PTRACE, unix.PTRACE_SEIZE, number(a[0]), 0, 0) },
		"read":      func(a []string) error { return readMemory(int(number(a[0]))) },
		"pidfd":     func(a []string) error { return errnoOf(unix.SYS_PIDFD_OPEN, number(a[0]), 0) },
		"shell":     func(a []string) error { return answers("tcp", a[0], "status\r\n", "commands queued") },
		"socket":    func(a []string) error { return answers("unix", a[0], "status\r\n", "takt") },
		"abstract":  func(a []string) error { return answers("unix", "@"+a[0], "", "") },
		"api":       func(a []string) error { return getsJobs(a[0], "") },
		"api-token": func(a []string) error { return getsJobs(a[0], "tigerlily") },
		"leak":      func([]string) error { return leaked() },
		"root":      func([]string) error { return syscall.Setuid(0) },
		"group":     func([]string) error { return syscall.Setgid(0) },
		"groups":    func([]string) error { return syscall.Setgroups([]int{0}) },
		"mount":     func([]string) error { return unix.Mount("tmpfs", "sub", "tmpfs", 0, "") },
		"remount":   func(a []string) error { return unix.Mount("", a[0], "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"uncover":   func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) },
		"chroot":    func([]string) error { return unix.Chroot("/") },
		"userns":    func([]string) error { return errnoOf(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) },
		"clone":     func([]string) error { return cloned() },
		"device":    func([]string) error { return unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))) },
		"memory":    func(a []string) error { return fill(int(number(a[0]))) },
		"fork":      func(a []string) error { return forks(int(number(a[0]))) },
		"keyring":   func([]string) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false); return err },
		"bpf":       func([]string) error { return errnoOf(unix.SYS_BPF, 0, 0, 0) },
		"uring": func([]string) error {
			var p [120]byte
			return errnoOf(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&p)))
		},
		"rights": func([]string) error { return capable() },
		"limits": func([]string) error {
			return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
		},
		"hostname": func([]string) error { return sameHostname() },
		"oom":      func([]string) error { return os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0) },
		"suid-fchmodat": func([]string) error {
			return suid(func(f string) error { return unix.Fchmodat(unix.AT_FDCWD, f, 0o4755, 0) })
		},
		"suid-fchmodat2": func([]string) error {
			return suid(func(f string) error { return unix.Fchmodat(unix.AT_FDCWD, f, 0o4755, unix.AT_SYMLINK_NOFOLLOW) })
		},
		"suid-open": func([]string) error {
			return suid(func(f string) error { _, err := unix.Open(f+".open", unix.O_CREAT|unix.O_RDWR, 0o4755); return err })
		},
		"suid-mknod": func([]string) error {
			return suid(func(f string) error { return unix.Mknod(f+".mknod", unix.S_IFREG|0o4755, 0) })
		},
	}
}

func number(text string) uintptr {
	n, _ := strconv.Atoi(text) // of the test
	return uintptr(n)
}

// errnoOf is the outcome of a system call.
func errnoOf(call uintptr, args ...uintptr) error {
	a := append(args, 0, 0, 0, 0, 0, 0)
	runtime.LockOSThread()
	if _, _, e := syscall.Syscall6(call, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
		return e
	}
	return nil
}

// readMemory reads one byte of another process.
func readMemory(pid int) error {
	var b [1]byte
	at := uintptr(unsafe.Pointer(&b)) // not mapped there, perhaps: then the answer is EFAULT, which means that it may
	_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: at, Len: 1}}, 0)
	if err == unix.EFAULT {
		return nil
	}
	return err
}

// answers says a line to a shell, and expects a text in its answer.
func answers(network, address, line, want string) error {
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if want == "" {
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprint(conn, line)
	if tcp, is := conn.(interface{ CloseWrite() error }); is {
		_ = tcp.CloseWrite()
	}
	text, _ := io.ReadAll(conn)
	if !strings.Contains(string(text), want) {
		return fmt.Errorf("it says %q", text)
	}
	return nil
}

// getsJobs asks the API for all jobs.
func getsJobs(url, token string) error {
	r, err := http.NewRequest(http.MethodGet, url+"/v1/jobs", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := (&http.Client{Timeout: 5 * time.Second}).Do(r)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", answer.Status)
	}
	return nil
}

// leaked looks for files that takt has left open. What a program inherits it had not to close before it
// began: all that Go opens in this process is marked so, also connections of the attempts before this one.
func leaked() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, f := range open {
		n := number(f.Name())
		flags, err := unix.FcntlInt(n, unix.F_GETFD, 0)
		if n > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
			link, _ := os.Readlink(filepath.Join("/proc/self/fd", f.Name()))
			fmt.Println(f.Name(), link)
			return nil
		}
	}
	return os.ErrNotExist
}

// cloned starts a process in a user namespace, where it would have all rights.
func cloned() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return cmd.Run()
}

// fill uses so many MiB of memory.
func fill(mib int) error {
	var all [][]byte
	for range mib {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
	}
	runtime.KeepAlive(all)
	return nil
}

// forks starts so many processes.
func forks(n int) (err error) {
	var all []*exec.Cmd
	for range n {
		cmd := exec.Command("sleep", "60")
		if err = cmd.Start(); err != nil {
			break
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return err
}

// capable reports an error if this process has no capability.
func capable() error {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if set, is := strings.CutPrefix(line, "CapBnd:"); is && strings.Trim(set, "0\t\n") != "" {
			return nil
		}
	}
	return os.ErrPermission
}

// sameHostname sets the name that the machine has.
func sameHostname() error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return unix.Sethostname([]byte(name))
}

// suid makes a file with a set-user-ID bit.
func suid(try func(file string) error) error {
	const file = "suid"
	if err := os.WriteFile(file, nil, 0o755); err != nil {
		return err
	}
	return try(file)
}

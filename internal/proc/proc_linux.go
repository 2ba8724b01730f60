package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// jiffy is the unit of /proc/stat: USER_HZ has been 100 on every Linux for decades.
const jiffy = 10 * time.Millisecond

func rusage() (cpu time.Duration, maxRSS int64) {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0, 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), ru.Maxrss * 1024
}

// stat reads the first line of /proc/stat, of all CPUs: idle and iowait are its
// fourth and fifth figures, steal the eighth.
func stat() (steal, idle time.Duration) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line)
	if len(f) < 9 {
		return 0, 0
	}
	figure := func(i int) time.Duration {
		n, _ := strconv.ParseInt(f[i], 10, 64) // not a number: 0, not known
		return time.Duration(n) * jiffy
	}
	return figure(8), figure(4) + figure(5)
}

// waited is the second figure of each thread's schedstat, by the thread's id.
func waited() map[string]time.Duration {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat") // the pattern is a good one
	threads := make(map[string]time.Duration, len(files))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if f := strings.Fields(string(b)); err == nil && len(f) > 1 {
			n, _ := strconv.ParseInt(f[1], 10, 64) // the kernel writes numbers
			threads[filepath.Base(filepath.Dir(file))] = time.Duration(n)
		}
	}
	return threads
}

// resent is RetransSegs of the counters of TCP, which stand below a line with their names.
func resent(root string) (segments uint64) {
	b, err := os.ReadFile(filepath.Join(root, "proc/self/net/snmp"))
	if err != nil {
		return 0
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] != "Tcp:":
		case names == nil:
			names = f
		default:
			if i := slices.Index(names, "RetransSegs"); i > 0 && i < len(f) {
				segments, _ = strconv.ParseUint(f[i], 10, 64) // the kernel writes numbers
			}
			return segments
		}
	}
	return 0
}

func cpuModel() string {
	model, _ := keyed("/proc/cpuinfo", "model name", ":")
	return model
}

// keyed finds the first line that begins with key and returns what follows sep.
func keyed(path, key, sep string) (string, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		name, value, ok := strings.Cut(sc.Text(), sep)
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// OpenFiles is the limit of open files of this process, and how many are in use.
func OpenFiles() (limit, used uint64) {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0, 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return r.Cur, 0
	}
	return r.Cur, uint64(len(entries))
}

// LocalPorts is the range that connections get their local port from; 0, 0: not known.
func LocalPorts() (low, high int) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0
	}
	if n, err := fmt.Sscan(string(b), &low, &high); n != 2 || err != nil {
		return 0, 0
	}
	return low, high
}

// Memory is what this process may have in all, bytes: the machine's memory, or what
// its cgroup (version 2 or 1) leaves of it; 0: not known.
func Memory() int64 {
	total, _ := keyed("/proc/meminfo", "MemTotal", ":")
	kib, _ := strconv.ParseInt(strings.TrimSuffix(total, " kB"), 10, 64)
	if n := memoryLimit("/"); n > 0 && (kib == 0 || n < kib<<10) {
		return n
	}
	return kib << 10
}

// Of reads what a process has used. One that has ended has no memory any more: ok is
// false for it.
func Of(pid int) (p Process, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	p.RSS, p.MaxRSS = kibibytes(dir, "VmRSS"), kibibytes(dir, "VmHWM")
	p.CPU, ok = cpuOf(pid)
	return p, ok && p.MaxRSS > 0
}

// Switches are the context switches of a process so far, by thread: the thread gave the core up, or lost it. The
// kernel forgets those of a thread that has ended.
func Switches(pid int) map[string]uint64 {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, _ := os.ReadDir(dir)
	counts := make(map[string]uint64, len(threads))
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(dir, thread.Name(), "status"))
		if err != nil {
			continue // it has ended meanwhile
		}
		for line := range strings.Lines(string(text)) {
			if name, n, _ := strings.Cut(line, ":"); strings.HasSuffix(name, "voluntary_ctxt_switches") { // voluntary and nonvoluntary
				count, _ := strconv.ParseUint(strings.TrimSpace(n), 10, 64) // the kernel writes numbers
				counts[thread.Name()] += count
			}
		}
	}
	return counts
}

// cpuOf reads the CPU clock of a process, which has nanoseconds; /proc/PID/stat counts in 10 ms,
// which is 4 % of what a small server needs for a run of some seconds. The number of that clock is
// that of clock_getcpuclockid(3).
func cpuOf(pid int) (time.Duration, bool) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if pid <= 0 || unix.ClockGettime(int32(^pid<<3|scheduled), &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// kibibytes reads such a figure of /proc/PID/status, in bytes; 0: there is none.
func kibibytes(dir, key string) int64 {
	v, _ := keyed(dir+"/status", key, ":")
	n, _ := strconv.ParseInt(strings.TrimSuffix(v, " kB"), 10, 64)
	return n << 10
}

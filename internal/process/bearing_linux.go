package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bearing returns the processes that have the variable NAME=VALUE in their environment: a process
// and all that it started, also those that left its group or session. takt sees only processes of
// its own user.
func Bearing(variable string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && bears(environ, variable) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func bears(environ []byte, variable string) bool {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if string(v) == variable {
			return true
		}
	}
	return false
}

// KillBearing kills the processes that have the variable in their environment, and waits until the kernel
// has closed their files.
func KillBearing(variable string) {
	var killed []int
	for range killRounds {
		pids := Bearing(variable)
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		killed = append(killed, pids...)
	}
	AwaitEnd(killed)
}

// AwaitEnd waits until the kernel has closed the files and ports of killed processes.
func AwaitEnd(pids []int) {
	for limit := time.Now().Add(closePatience); time.Now().Before(limit) && slices.ContainsFunc(pids, exiting); {
		time.Sleep(time.Millisecond)
	}
}

// closePatience limits the wait for killed processes.
const closePatience = 2 * time.Second

// exiting reports whether a killed process may still have its sockets: the kernel gives back the memory,
// and with it the environment, before it closes files. A zombie has none, unless other threads of it
// still end: the files are theirs, too.
func exiting(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, after, ok := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ") // the program's name may contain anything
	f := strings.Fields(after)
	if err != nil || !ok || len(f) <= statThreads {
		return false
	}
	threads, _ := strconv.Atoi(f[statThreads]) // the kernel writes numbers
	return f[0] != "Z" && f[0] != "X" || threads > 1
}

// statThreads is the index of the number of threads in /proc/PID/stat, behind the name.
const statThreads = 17

// killRounds limits the repetitions: a process may start another one while takt looks.
const killRounds = 100

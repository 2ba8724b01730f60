package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
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

// KillBearing kills the processes that have the variable in their environment.
func KillBearing(variable string) {
	for range killRounds {
		pids := Bearing(variable)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// killRounds limits the repetitions: a process may start another one while takt looks.
const killRounds = 100

package apmserver

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// self names this process for good: its namespace, its number in it, and when it started,
// since numbers are given again.
func self() string { return processOf(namespace(), os.Getpid()) }

// alive says whether the process of that name may run still. Into another namespace,
// that of a takt in a container, nobody sees.
func alive(name string) bool {
	var space string
	var pid int
	if _, err := fmt.Sscanf(name, "%s %d ", &space, &pid); err != nil {
		return false
	}
	return space != namespace() || processOf(space, pid) == name
}

func namespace() string {
	space, _ := os.Readlink("/proc/self/ns/pid") // "": equal for all that cannot read it
	return space
}

// processOf has the start time in ticks since the machine started.
func processOf(space string, pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name may hold anything
	if len(f) < 20 {
		return ""
	}
	return fmt.Sprintf("%s %d %s", space, pid, f[19])
}

package apmserver

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// self is a unique name of this process: its namespace, number and start time, because
// numbers are reused.
func self() string { return processOf(namespace(), os.Getpid()) }

// alive reports whether the process of that name may still run. A process in another
// namespace, such as that of takt in a container, is not visible.
func alive(name string) bool {
	var space string
	var pid int
	if _, err := fmt.Sscanf(name, "%s %d ", &space, &pid); err != nil {
		return false
	}
	return space != namespace() || processOf(space, pid) == name
}

func namespace() string {
	space, _ := os.Readlink("/proc/self/ns/pid") // "" is equal for all processes that cannot read it
	return space
}

// processOf includes the start time in ticks since boot.
func processOf(space string, pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name may contain anything
	if len(f) < 20 {
		return ""
	}
	return fmt.Sprintf("%s %d %s", space, pid, f[19])
}

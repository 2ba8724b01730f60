package process

import (
	"path/filepath"
	"slices"
	"strconv"
)

// Listening returns the TCP ports on which these processes accept connections, in order.
func Listening(pids []int) (ports []int) {
	for _, pid := range pids {
		ports = append(ports, portsOf(pid)...)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// Listener returns the first of these processes that accepts connections on a TCP port; 0: none does.
func Listener(pids []int, port int) int {
	for _, pid := range pids {
		if slices.Contains(portsOf(pid), port) {
			return pid
		}
	}
	return 0
}

// portsOf are the TCP ports on which a process accepts connections.
func portsOf(pid int) (ports []int) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	own := inodes(dir)
	for _, s := range sockets(dir, "tcp", "tcp6") {
		if s.listens() && own[s.inode] {
			ports = append(ports, int(s.local.Port()))
		}
	}
	return ports
}

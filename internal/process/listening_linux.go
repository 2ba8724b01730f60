package process

import (
	"path/filepath"
	"slices"
	"strconv"
)

// Listening returns the TCP ports on which these processes accept connections, in order.
func Listening(pids []int) (ports []int) {
	for _, pid := range pids {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		own := inodes(dir)
		for _, s := range sockets(dir, "tcp", "tcp6") {
			if port := int(s.local.Port()); s.listens() && own[s.inode] && !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	slices.Sort(ports)
	return ports
}

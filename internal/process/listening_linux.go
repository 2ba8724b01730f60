package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Listening returns the TCP ports on which these processes accept connections, in order.
func Listening(pids []int) (ports []int) {
	for _, pid := range pids {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		open := listeners(dir)
		links, _ := filepath.Glob(dir + "/fd/*")
		for _, link := range links {
			name, _ := os.Readlink(link) // socket:[INODE]
			if port, ok := open[strings.TrimSuffix(strings.TrimPrefix(name, "socket:["), "]")]; ok && !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	slices.Sort(ports)
	return ports
}

// listeners are the ports of all listening sockets that the process can see, by inode.
func listeners(dir string) map[string]int {
	const state, listen = 3, "0A" // in /proc/PID/net/tcp
	open := map[string]int{}
	for _, name := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(filepath.Join(dir, "net", name))
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[state] != listen {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			if port, err := strconv.ParseUint(hex, 16, 16); err == nil {
				open[f[9]] = int(port)
			}
		}
	}
	return open
}

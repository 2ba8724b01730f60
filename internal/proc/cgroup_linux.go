package proc

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cgroups are the folders, below root, of this process's cgroup and of all above it, for a
// controller, in version 2 and in version 1. In a container the path may be the host's,
// which the container does not see; what it sees as the root is its own then.
func cgroups(root, controller string) (dirs []string) {
	b, err := os.ReadFile(path.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		top := path.Join(root, "sys/fs/cgroup")
		switch {
		case f[1] == "":
		case slices.Contains(strings.Split(f[1], ","), controller):
			top = path.Join(top, controller)
		default:
			continue
		}
		for own := path.Join("/", f[2]); ; own = path.Dir(own) {
			dirs = append(dirs, path.Join(top, own))
			if own == "/" {
				break
			}
		}
	}
	return dirs
}

// throttled is how long the CPU quotas of the process's cgroups have held them back.
func throttled(root string) (sum time.Duration) {
	for _, dir := range cgroups(root, "cpu") {
		for key, unit := range map[string]time.Duration{"throttled_usec": time.Microsecond, "throttled_time": time.Nanosecond} {
			if n, ok := keyed(path.Join(dir, "cpu.stat"), key, " "); ok {
				v, _ := strconv.ParseInt(n, 10, 64) // the kernel writes numbers
				sum += time.Duration(v) * unit
			}
		}
	}
	return sum
}

// memoryLimit is the least limit of the process's cgroups, in bytes; 0: there is none.
func memoryLimit(root string) (least int64) {
	for _, dir := range cgroups(root, "memory") {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			b, err := os.ReadFile(path.Join(dir, name))
			n, errParse := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max": no limit
			if err == nil && errParse == nil && n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}

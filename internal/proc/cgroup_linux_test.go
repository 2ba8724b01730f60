package proc

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// tree writes files below a folder of their own.
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The quota that counts is that of the process's own cgroup and of those above it, not of
// the root.
func TestCgroup(t *testing.T) {
	for name, c := range map[string]struct {
		files     map[string]string
		throttled time.Duration
		memory    int64
	}{
		"version 2": {map[string]string{
			"proc/self/cgroup":                    "0::/ci/job\n",
			"sys/fs/cgroup/cpu.stat":              "usage_usec 12\n",
			"sys/fs/cgroup/ci/cpu.stat":           "usage_usec 12\nthrottled_usec 1000000\n",
			"sys/fs/cgroup/ci/job/cpu.stat":       "nr_throttled 3\nthrottled_usec 500000\n",
			"sys/fs/cgroup/ci/memory.max":         "1000000\n",
			"sys/fs/cgroup/ci/job/memory.max":     "max\n",
			"sys/fs/cgroup/other/cpu.stat":        "throttled_usec 700000\n",
			"sys/fs/cgroup/other/job/memory.max":  "1000\n",
			"sys/fs/cgroup/ci/job/x/cpu.stat":     "throttled_usec 700000\n",
			"sys/fs/cgroup/ci/job/x/memory.max":   "1000\n",
			"sys/fs/cgroup/memory/ci/job/ignored": "",
		}, 1500 * time.Millisecond, 1000000},
		"version 1": {map[string]string{
			"proc/self/cgroup":                                "9:name=systemd:/\n4:memory:/a/b\n2:cpu,cpuacct:/a\n0::/\n",
			"sys/fs/cgroup/cpu/cpu.stat":                      "throttled_time 0\n",
			"sys/fs/cgroup/cpu/a/cpu.stat":                    "throttled_time 2000000000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":      "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":    "2000000\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes":  "4000000\n",
			"sys/fs/cgroup/cpu/a/b/cpu.stat":                  "throttled_time 5000000000\n",
			"sys/fs/cgroup/cpuacct/a/cpu.stat":                "throttled_time 5000000000\n",
			"sys/fs/cgroup/memory/else/memory.limit_in_bytes": "1\n",
		}, 2 * time.Second, 2000000},
		"a container that sees its own cgroup as the root": {map[string]string{
			"proc/self/cgroup":         "0::/docker/0123\n",
			"sys/fs/cgroup/cpu.stat":   "throttled_usec 40000\n",
			"sys/fs/cgroup/memory.max": "5000\n",
		}, 40 * time.Millisecond, 5000},
		"nothing is known": {map[string]string{"proc/self/cgroup": "nonsense\n"}, 0, 0},
		"no proc":          {nil, 0, 0},
	} {
		root := tree(t, c.files)
		if got := throttled(root); got != c.throttled {
			t.Errorf("%s: throttled for %v, want %v", name, got, c.throttled)
		}
		if got := memoryLimit(root); got != c.memory {
			t.Errorf("%s: %d bytes, want %d", name, got, c.memory)
		}
	}
}

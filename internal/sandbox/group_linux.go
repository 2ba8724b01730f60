//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroups is where control groups are mounted.
const cgroups = "/sys/fs/cgroup"

// group limits the programs of a sandbox together, by control groups.
type group struct {
	parts  []part
	memory int64   // limit in bytes; 0: not limited
	cpu    float64 // limit in cores; 0: not limited
}

// part is a control group: one of version 2, or one of a controller of version 1.
type part struct {
	dir      string
	settings []setting
}

// setting is a file of a control group, and what takt writes there.
type setting struct {
	name, value string
	needed      bool // else the kernel may lack the file
}

// newGroup finds where this process may create control groups. Without such a place nothing is
// limited by them.
func newGroup(memory int64, cpu float64, tasks int) *group {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return &group{}
	}
	return groupIn(cgroups, string(own), memory, cpu, tasks)
}

// groupIn is newGroup for control groups mounted there, of a process in the groups that own lists.
func groupIn(mount, own string, memory int64, cpu float64, tasks int) *group {
	g := &group{}
	for line := range strings.Lines(own) { // 4:memory:/path, or 0::/path for version 2
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		settings := settingsOf(f[1], memory, cpu, tasks)
		if len(settings) == 0 || !g.place(filepath.Join(mount, f[1]), f[2], settings) {
			continue
		}
		if f[1] == "" || f[1] == "memory" {
			g.memory = memory
		}
		if f[1] == "" || strings.HasPrefix(f[1], "cpu") {
			g.cpu = cpu
		}
	}
	return g
}

// settingsOf are the settings of a controller of version 1; "": of version 2. A limit of 0 is not set.
func settingsOf(controller string, memory int64, cpu float64, tasks int) []setting {
	const period = 100000 // µs
	bytes, processes, quota := strconv.FormatInt(memory, 10), strconv.Itoa(tasks), strconv.Itoa(int(math.Ceil(cpu*period)))
	switch controller {
	case "":
		var s []setting
		if memory > 0 {
			s = []setting{{"memory.max", bytes, true}, {"memory.swap.max", "0", false}, {"memory.oom.group", "1", false}, {"pids.max", processes, true}}
		}
		if cpu > 0 {
			s = append(s, setting{"cpu.max", quota + " " + strconv.Itoa(period), true})
		}
		return s
	case "memory":
		if memory == 0 {
			return nil
		}
		return []setting{{"memory.limit_in_bytes", bytes, true}, {"memory.memsw.limit_in_bytes", bytes, false}}
	case "pids":
		if tasks == 0 {
			return nil
		}
		return []setting{{"pids.max", processes, true}}
	case "cpu", "cpu,cpuacct":
		if cpu > 0 {
			return []setting{{"cpu.cfs_period_us", strconv.Itoa(period), true}, {"cpu.cfs_quota_us", quota, true}}
		}
	}
	return nil
}

// groupName is the beginning of the names of groups; the number of takt follows.
const groupName = "takt-sandbox-"

// place adds a group below this process's own, or below the next one above it that lets a group
// have all needed settings: a group of version 2 that contains processes does not.
func (g *group) place(mount, own string, settings []setting) bool {
	for at := filepath.Clean("/" + own); ; at = filepath.Dir(at) {
		left, _ := filepath.Glob(filepath.Join(mount, at, groupName+"*")) // the pattern is well-formed
		for _, dir := range left {
			if _, err := os.Stat("/proc/" + strings.TrimPrefix(filepath.Base(dir), groupName)); os.IsNotExist(err) {
				_ = os.Remove(dir) // of a takt that was killed
			}
		}
		p := part{filepath.Join(mount, at, groupName+strconv.Itoa(os.Getpid())), settings}
		if p.create() == nil {
			g.parts = append(g.parts, p)
			return true
		}
		if at == "/" {
			return false
		}
	}
}

// create creates the group and sets its limits, also again.
func (p *part) create() error {
	if err := os.Mkdir(p.dir, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	for _, s := range p.settings {
		if err := writeExisting(filepath.Join(p.dir, s.name), s.value); err != nil && s.needed {
			_ = os.Remove(p.dir) // the error is the cause
			return err
		}
	}
	return nil
}

// writeExisting creates no file: in a folder that is not a control group it would mean nothing.
func writeExisting(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// join returns the files by which a process joins the groups.
func (g *group) join() (files []string, err error) {
	for _, p := range g.parts {
		if err := p.create(); err != nil {
			return nil, fmt.Errorf("cannot limit programs: %w", err)
		}
		files = append(files, filepath.Join(p.dir, "cgroup.procs"))
	}
	return files, nil
}

// remove removes the groups, whose processes have ended.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	var faults []error
	for _, p := range g.parts {
		if err := os.Remove(p.dir); !os.IsNotExist(err) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// String says what is limited.
func (g *group) String() string {
	text := "memory is not limited, because takt may not create control groups here"
	if g.memory > 0 {
		text = "at most " + sizeText(g.memory) + " of memory"
	}
	if g.cpu > 0 {
		text += fmt.Sprintf("; at most %.4g cores", g.cpu)
	}
	return text
}

// sizeText is a size in the unit that somebody gave it in: 200m are 200 MB.
func sizeText(bytes int64) string {
	switch {
	case bytes%1e6 == 0:
		return fmt.Sprintf("%d MB", bytes/1e6)
	case bytes < 1<<30:
		return fmt.Sprintf("%.4g MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.3g GiB", float64(bytes)/(1<<30))
}

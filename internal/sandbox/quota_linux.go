//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"strconv"
)

// Quota limits the CPU time of programs of takt's user, which are not in a sandbox.
type Quota struct{ group *group }

// NewQuota creates a control group that may use that many cores. The error says that takt may not create
// control groups here.
func NewQuota(cores float64) (*Quota, error) {
	g := newGroup(0, cores, 0)
	if len(g.parts) == 0 {
		return nil, errors.New("takt may not create control groups with a CPU limit here; run it as root, or in a container with its own control groups")
	}
	return &Quota{g}, nil
}

// Add limits these processes and what they start from now on. A process that has ended is no error.
func (q *Quota) Add(pids []int) error {
	files, err := q.group.join()
	for _, file := range files {
		for _, pid := range pids {
			if bad := writeExisting(file, strconv.Itoa(pid)); bad != nil && alive(pid) {
				err = errors.Join(err, bad)
			}
		}
	}
	return err
}

func alive(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return err == nil
}

// Remove removes the control group, whose processes have ended.
func (q *Quota) Remove() error { return q.group.remove() }

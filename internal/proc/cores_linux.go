package proc

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Cores are the CPUs that this process may use, in groups that share a core; nil: not known.
func Cores() [][]int { return coresOf("/sys/devices/system/cpu", allowed()) }

func allowed() (list []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for cpu := range 8 * len(set) * strconv.IntSize / 8 {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list
}

func coresOf(root string, cpus []int) (cores [][]int) {
	for _, cpu := range cpus {
		text, err := os.ReadFile(root + "/cpu" + strconv.Itoa(cpu) + "/topology/thread_siblings_list")
		siblings, bad := ParseCPUs(strings.TrimSpace(string(text)))
		if err != nil || bad != nil {
			siblings = []int{cpu}
		}
		siblings = slices.DeleteFunc(siblings, func(c int) bool { return !slices.Contains(cpus, c) })
		if len(siblings) > 0 && siblings[0] == cpu {
			cores = append(cores, siblings)
		}
	}
	return cores
}

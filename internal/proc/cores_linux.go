package proc

import (
	"fmt"
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

// Usable is the number of CPUs that this process may use now.
func Usable() int { return max(1, len(allowed())) }

// Pin lets all threads of this process use only these CPUs, until restore is called. Threads that start
// later have the CPUs of the thread that starts them.
func Pin(cpus []int) (restore func(), err error) {
	before := allowed()
	if err := pin(cpus); err != nil {
		_ = pin(before) // as far as it is possible
		return nil, err
	}
	return func() { _ = pin(before) }, nil // cannot fail: the process had them
}

// pin looks again until there is no new thread: another one may have started it before its turn.
func pin(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	done := map[int]bool{}
	for {
		news := false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range threads {
			id, _ := strconv.Atoi(t.Name()) // the kernel writes numbers
			if done[id] {
				continue
			}
			if err := unix.SchedSetaffinity(id, &set); err != nil && err != unix.ESRCH { // ESRCH: the thread has ended
				return fmt.Errorf("cannot use the CPUs %s: %w", CPUList(cpus), err)
			}
			done[id], news = true, true
		}
		if !news {
			return nil
		}
	}
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

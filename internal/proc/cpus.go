package proc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const mostCPU = 1023

// ParseCPUs reads a list such as 0-3,8, as taskset and the kernel write it.
func ParseCPUs(text string) (cpus []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		a, bad := strconv.Atoi(low)
		b, worse := strconv.Atoi(high)
		if bad != nil || worse != nil || a < 0 || b < a || b > mostCPU {
			return nil, fmt.Errorf("%q is not a list of CPUs; give one such as 2-3 or 0,4", text)
		}
		for cpu := a; cpu <= b; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// CPUList writes CPUs, in ascending order, as ParseCPUs reads them.
func CPUList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); i++ {
		first := cpus[i]
		for i+1 < len(cpus) && cpus[i+1] == cpus[i]+1 {
			i++
		}
		part := strconv.Itoa(first)
		if cpus[i] > first {
			part += "-" + strconv.Itoa(cpus[i])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// LaterHalf are the CPUs of the later half of the cores, for a server beside its load; ok is false
// with fewer than 4 CPUs or 2 cores.
func LaterHalf(cores [][]int) (cpus []int, ok bool) {
	if len(slices.Concat(cores...)) < 4 || len(cores) < 2 {
		return nil, false
	}
	cpus = slices.Concat(cores[(len(cores)+1)/2:]...)
	slices.Sort(cpus)
	return cpus, true
}

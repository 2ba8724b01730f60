// Package proc reads what the operating system says of processes: CPU time,
// memory, limits. Where it says nothing the figures are zero.
package proc

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// Usage is what this process and its machine have used so far.
type Usage struct {
	At        time.Time
	CPU       time.Duration            // user and system time of this process
	MaxRSS    int64                    // bytes, the highest so far
	Steal     time.Duration            // of all CPUs: taken by the hypervisor
	Idle      time.Duration            // of all CPUs: nothing to do
	Throttled time.Duration            // of the cgroups: held back by their CPU quotas
	Waited    map[string]time.Duration // of this process's threads, by id: ready to run, without a core
	Resent    uint64                   // TCP segments that this network namespace has sent again
	GC        debug.GCStats            // cycles and pauses
}

// Self reads the usage of this process.
func Self() Usage {
	u := Usage{At: time.Now()}
	u.CPU, u.MaxRSS = rusage()
	u.Steal, u.Idle = stat()
	u.Throttled = throttled("/")
	u.Waited, u.Resent = waited(), resent("/")
	debug.ReadGCStats(&u.GC)
	return u
}

// CPU is the user and system time of this process so far; 0: not known.
func CPU() time.Duration {
	cpu, _ := rusage()
	return cpu
}

// Span is what was used between two readings.
type Span struct {
	Wall, CPU, Steal, Idle, Throttled, Waited time.Duration
	MaxRSS                                    int64
	GCCycles                                  uint32
	Resent                                    uint64
	GCPauseMax                                time.Duration
}

// Since is what was used from before to u. Pauses older than the 256 that the
// runtime remembers are not looked at. A thread counts in Waited if it still ran at u.
// The kernel's counters of idle and waiting times can step back a little: each CPU has
// a clock of its own, and iowait moves with its task. A counter that stepped back says
// nothing of its span, so it counts as 0.
func (u Usage) Since(before Usage) Span {
	s := Span{
		Wall: u.At.Sub(before.At), CPU: u.CPU - before.CPU,
		Steal: max(0, u.Steal-before.Steal), Idle: max(0, u.Idle-before.Idle), Throttled: max(0, u.Throttled-before.Throttled),
		MaxRSS: u.MaxRSS, GCCycles: uint32(u.GC.NumGC - before.GC.NumGC), Resent: u.Resent - min(u.Resent, before.Resent),
	}
	for id, waited := range u.Waited {
		s.Waited += max(0, waited-before.Waited[id])
	}
	for i := range min(int(s.GCCycles), len(u.GC.Pause)) {
		s.GCPauseMax = max(s.GCPauseMax, u.GC.Pause[i])
	}
	return s
}

// Share is d as a part of the time that all cores had which takt may use: 0.5 is half of them.
func (s Span) Share(d time.Duration) float64 {
	return d.Seconds() / max(1e-9, s.Wall.Seconds()*float64(Usable()))
}

// HostClass names the kind of machine: runs on different kinds are not compared.
func HostClass() map[string]any {
	return map[string]any{"os": runtime.GOOS, "arch": runtime.GOARCH, "cores": runtime.NumCPU(), "cpu": cpuModel()}
}

// HostClassName is HostClass in a line: linux/amd64, 2 cores, AMD EPYC.
func HostClassName() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cmp.Or(cpuModel(), "unknown CPU"))
}

// Process is what a process has used so far, this one or another.
type Process struct {
	CPU    time.Duration // user and system time of all its threads
	RSS    int64         // bytes, resident now
	MaxRSS int64         // bytes, the highest so far
}

//go:build !linux

package proc

import "time"

func rusage() (cpu time.Duration, maxRSS int64) { return 0, 0 }
func stat() (steal, idle time.Duration)         { return 0, 1 << 62 }
func waited() map[string]time.Duration          { return nil }
func throttled(string) time.Duration            { return 0 }
func resent(string) uint64                      { return 0 }
func cpuModel() string                          { return "" }

// OpenFiles is not known here.
func OpenFiles() (limit, used uint64) { return 0, 0 }

// LocalPorts is not known here.
func LocalPorts() (low, high int) { return 0, 0 }

// Memory is not known here.
func Memory() int64 { return 0 }

// Of is not known here.
func Of(int) (Process, bool) { return Process{}, false }

// Switches is not known here.
func Switches(int) map[string]uint64 { return nil }

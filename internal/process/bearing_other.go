//go:build !linux

package process

// Bearing returns nothing: other systems hide the environment of processes.
func Bearing(string) []int { return nil }

// KillBearing does nothing.
func KillBearing(string) {}

// AwaitEnd does nothing.
func AwaitEnd([]int) {}

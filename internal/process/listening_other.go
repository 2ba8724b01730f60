//go:build !linux

package process

import "net/netip"

// Listening returns nothing: other systems do not show the sockets of processes.
func Listening([]int) []int { return nil }

// Listener returns 0, as Listening.
func Listener([]int, int) int { return 0 }

// Connections returns nothing, as Listening.
func Connections() map[string]netip.AddrPort { return nil }

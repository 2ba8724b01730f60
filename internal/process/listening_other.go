//go:build !linux

package process

import "net/netip"

// Listening returns nothing: other systems do not show the sockets of processes.
func Listening([]int) []int { return nil }

// Connections returns nothing, as Listening.
func Connections() map[string]netip.AddrPort { return nil }

//go:build !linux

package pace

import "time"

// Precise is Timer where the operating system's own sleep is not wired up.
func Precise(start time.Time) Waiter { return Timer(start) }

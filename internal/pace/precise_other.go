//go:build !linux

package pace

import "time"

// Precise is Timer on systems without a precise sleep.
func Precise(start time.Time) Waiter { return Timer(start) }

// Prompt is Timer on these systems.
func Prompt(start time.Time) Waiter { return Timer(start) }

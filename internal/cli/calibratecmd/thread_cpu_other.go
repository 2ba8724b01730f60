//go:build !linux

package calibratecmd

import (
	"time"
)

// threadCPU is unknown on this system.
func threadCPU() time.Duration { return 0 }

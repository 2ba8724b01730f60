//go:build !linux

package cli

import (
	"time"
)

// threadCPU is unknown on this system.
func threadCPU() time.Duration { return 0 }

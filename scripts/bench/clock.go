package main

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/hist"
)

// runClock returns the lag of an ideal pacer that needs no CPU: no tool can be more punctual than the
// machine. It keeps both cores busy, because a busy machine may stand still more often.
func runClock(length time.Duration) (r result) {
	server, client := still(serverCore, length), still(clientCore, length)
	<-server
	late := (<-client).Late
	r.lag.P50, r.lag.P99 = hist.Micros(late.Quantile(0.50)), hist.Micros(late.Quantile(0.99))
	return r
}

// still reads the clock all the time on that core.
func still(core string, length time.Duration) <-chan pace.Stillness {
	seen := make(chan pace.Stillness, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this function
		var set unix.CPUSet
		set.Set(int(core[0] - '0'))
		_ = unix.SchedSetaffinity(0, &set) // if that is forbidden, the kernel chooses the core
		seen <- pace.Still(context.Background(), length)
	}()
	return seen
}

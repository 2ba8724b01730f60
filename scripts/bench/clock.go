package main

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/hist"
)

// runClock gives the lag of a pacer that needs no time: no tool can be in better time
// than the machine. A machine that is busy may stand still more often, so both cores are.
func runClock(length time.Duration) (r result) {
	server, client := still(serverCore, length), still(clientCore, length)
	<-server
	late := (<-client).Late
	r.lag.P50, r.lag.P99 = hist.Micros(late.Quantile(0.50)), hist.Micros(late.Quantile(0.99))
	return r
}

// still looks at the clock on that core.
func still(core string, length time.Duration) <-chan pace.Stillness {
	seen := make(chan pace.Stillness, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this function
		var set unix.CPUSet
		set.Set(int(core[0] - '0'))
		_ = unix.SchedSetaffinity(0, &set) // as the machine's own placing, if that is forbidden
		seen <- pace.Still(context.Background(), length)
	}()
	return seen
}

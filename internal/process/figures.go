package process

import (
	"context"
	"time"

	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/timeline"
)

// Timeline reads memory and CPU of the processes that find returns.
func Timeline(find func() []int) timeline.Group {
	f := &family{find: find, cpu: map[int]time.Duration{}}
	return timeline.Group{f.read}
}

// Sample is the lines of the log so far that are errors and warnings, as a timeline.Source.
func (l *Log) Sample(context.Context) (timeline.Reading, bool) {
	errors, warnings := l.Counts()
	return timeline.Reading{timeline.Errors: float64(errors), timeline.Warnings: float64(warnings)}, true
}

// family is the processes of a server. Their number may change.
type family struct {
	find func() []int
	cpu  map[int]time.Duration // of each process at the last reading
	sum  time.Duration         // CPU time of all, also of those that have ended
}

// read sums the processes. The CPU time of a process that has ended since the last reading is
// unknown, and with it the sum.
func (f *family) read(context.Context) (timeline.Reading, bool) {
	now, memory, lost := map[int]time.Duration{}, int64(0), false
	for _, pid := range f.find() {
		if p, ok := proc.Of(pid); ok {
			now[pid], memory = p.CPU, memory+p.RSS
			f.sum += max(0, p.CPU-f.cpu[pid]) // less than before: another process got the number
		}
	}
	for pid, before := range f.cpu {
		if cpu, there := now[pid]; !there || cpu < before {
			lost = true
		}
	}
	f.cpu = now
	r := timeline.Reading{timeline.Memory: float64(memory)}
	if !lost {
		r[timeline.CPU] = f.sum.Seconds()
	}
	return r, len(now) > 0
}

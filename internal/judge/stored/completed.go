package stored

import "github.com/taktload/takt/pkg/takt"

// Completed returns how many operations ended per second while the schedule lasted, of those that could:
// in the whole intervals of the measured window, except the time before the first answer can come. Without
// such an interval it returns 0 and false. Rate.Achieved includes operations that ended in the drain, so
// beside an overloaded target it is the offered rate, and Completed is what the target can do.
func Completed(r *takt.Report) (perS float64, ok bool) {
	const rounding = 1e-3 // of T, in seconds
	var ended uint64
	var seconds, before float64
	end := r.WarmupS + r.DurationS
	for _, iv := range r.Intervals {
		if !iv.Warmup && iv.T <= end+rounding {
			ended += iv.OK + iv.Failed
			seconds += iv.T - before
		}
		before = iv.T
	}
	if seconds == 0 {
		return 0, false
	}
	if before < end { // the run was over when its last operation was: nothing more was due
		seconds += end - before
	}
	if fill := r.Latency[takt.LatencyService].Min/1e6 - r.WarmupS; fill > 0 && fill < seconds { // what was due one response time earlier
		seconds -= fill
	}
	return float64(ended) / seconds, true
}

package bench

import (
	"math"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Result is how a run went, in wrk3's terms; Report has everything else.
type Result struct {
	Target        Benchmark     // what was asked for
	TotalDuration time.Duration // from the end of the warm-up to the end of the schedule, or to the end of the last request when that is later
	TotalRequests uint64        // that ended: ok and failed
	Errors        uint64        // of TotalRequests
	Omitted       uint64        // due, and not done when the drain was over
	Throughput    float64       // TotalRequests per second of TotalDuration
	Report        *takt.Report  // of kind "bench"; the texts of errors are its error classes
}

func (b Benchmark) result(rep *takt.Report) *Result {
	r := &Result{
		Target: b, Report: rep,
		TotalDuration: total(rep),
		TotalRequests: rep.Counts.OK + rep.Counts.Failed,
		Errors:        rep.Counts.Failed,
		Omitted:       rep.Counts.Dropped + rep.Counts.Unfinished,
	}
	if r.TotalDuration > 0 {
		r.Throughput = float64(r.TotalRequests) / r.TotalDuration.Seconds()
	}
	return r
}

// total is how long the measured part took, the drain included: the throughput
// would otherwise count requests that ended after the time by which it divides.
func total(rep *takt.Report) time.Duration {
	end := rep.WarmupS + rep.DurationS
	if n := len(rep.Intervals); n > 0 {
		end = max(end, rep.Intervals[n-1].T)
	}
	return time.Duration(math.Round((end - rep.WarmupS) * float64(time.Second)))
}

// failed reports whether there were requests and not one succeeded.
func (r *Result) failed() bool {
	return r.Report.Counts.Scheduled > 0 && r.Report.Counts.OK == 0
}

// reason says why not one succeeded.
func (r *Result) reason() string {
	if len(r.Report.Errors) == 0 {
		return "none ended"
	}
	return r.Report.Errors[0].Class
}

package bench

import (
	"math"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Result is the result of a run in wrk3's terms; Report has all other figures.
type Result struct {
	Target        Benchmark     // the benchmark that ran
	TotalDuration time.Duration // from the end of the warm-up to the end of the schedule, or to the end of the last request when that is later
	TotalRequests uint64        // requests that ended: ok and failed
	Errors        uint64        // failed requests of TotalRequests
	Omitted       uint64        // requests that were due and not done after the drain
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

// total is the length of the measured part, including the drain. Otherwise the throughput
// would count requests that ended after the time by which it divides.
func total(rep *takt.Report) time.Duration {
	end := rep.WarmupS + rep.DurationS
	if n := len(rep.Intervals); n > 0 {
		end = max(end, rep.Intervals[n-1].T)
	}
	return time.Duration(math.Round((end - rep.WarmupS) * float64(time.Second)))
}

// failed reports whether there were requests and none succeeded.
func (r *Result) failed() bool {
	return r.Report.Counts.Scheduled > 0 && r.Report.Counts.OK == 0
}

// reason says why no request succeeded.
func (r *Result) reason() string {
	if len(r.Report.Errors) == 0 {
		return "none ended"
	}
	return r.Report.Errors[0].Class
}

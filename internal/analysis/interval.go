package analysis

import (
	"fmt"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// OfInterval makes a report of one interval that lasted so many seconds, so that
// an assertion can be held against it alone. It has what an interval has: counts
// without unfinished ones, the rate, response and service time, and of schedule
// lag the p99.
func OfInterval(iv takt.Interval, seconds float64) *takt.Report {
	ended := iv.OK + iv.Failed
	r := &takt.Report{
		DurationS: seconds,
		Counts:    takt.Counts{Scheduled: iv.Scheduled, Sent: ended, OK: iv.OK, Failed: iv.Failed, Dropped: iv.Dropped},
		Latency:   map[string]takt.Latency{},
	}
	if seconds > 0 {
		intended := float64(iv.Scheduled) / seconds
		r.Rate = takt.Rate{Intended: &intended, Achieved: float64(ended) / seconds}
	}
	for name, encoded := range map[string]string{takt.LatencyResponse: iv.HDR, takt.LatencyService: iv.ServiceHDR} {
		if h, err := hist.Decode(encoded); err == nil { // else the report does not have it, and says so
			r.Latency[name] = h.Summary()
		}
	}
	// What was sent has a lag, and a service time if somebody answers.
	sent := r.Latency[takt.LatencyService].Count
	if sent == 0 && iv.ScheduleLagP99 > 0 {
		sent = ended
	}
	r.Latency[takt.LatencyScheduleLag] = takt.Latency{Count: sent, P99: iv.ScheduleLagP99}
	return r
}

// InInterval says why a cannot be judged by one interval alone, with the metric
// that can; nil if it can. A closed loop intends no rate.
func (a Assertion) InInterval(closed bool) error {
	switch {
	case a.of == takt.LatencyResponse, a.of == takt.LatencyService:
	case a.of == takt.LatencyScheduleLag:
		if a.metric != "p99" {
			return fmt.Errorf("condition %q: a single second has only the p99 of schedule lag; use schedule_lag.p99", a.Text)
		}
	case a.of != "":
		return fmt.Errorf("condition %q: a single second has no %s time; use response or service", a.Text, a.of)
	case a.metric == "unfinished":
		return fmt.Errorf("condition %q: what is unfinished is known at the end only; use failed, or ok==0 for a target that does not answer", a.Text)
	case a.metric == "rate" && a.unit == takt.UnitPercent && closed:
		return fmt.Errorf("condition %q: a closed loop has no intended rate; use rate with a number, as in rate<100/s", a.Text)
	}
	return nil
}

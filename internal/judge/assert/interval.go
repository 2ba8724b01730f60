package assert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// OfInterval turns one interval into a report, so that an assertion can be checked on it alone. The
// report contains what an interval contains: counts without unfinished operations, the rate,
// response time, service time, the p99 of schedule lag, and a consumer's lag. lent are the histograms of iv;
// nil: they are decoded.
func OfInterval(iv takt.Interval, lent timeline.Lent, seconds float64) *takt.Report {
	ended := iv.OK + iv.Failed
	r := &takt.Report{
		DurationS: seconds,
		Counts:    takt.Counts{Scheduled: iv.Scheduled, Sent: ended, OK: iv.OK, Failed: iv.Failed, Dropped: iv.Dropped},
		Latency:   map[string]takt.Latency{},
	}
	if iv.Lag != nil {
		r.Extra = map[string]any{"lag": *iv.Lag}
	}
	if iv.Good != nil {
		r.Goodput = &takt.Goodput{Good: *iv.Good}
		r.Goodput.Of(ended+iv.Dropped, seconds)
	}
	if seconds > 0 {
		intended := float64(iv.Scheduled) / seconds
		r.Rate = takt.Rate{Intended: &intended, Achieved: float64(ended) / seconds}
	}
	if h, err := lent.Of(&iv); err == nil { // otherwise the report lacks the latencies, and an assertion on them says so
		r.Latency[takt.LatencyResponse] = latency(h.Response, iv.HDR)
		r.Latency[takt.LatencyService] = latency(h.Service, iv.ServiceHDR)
		for name, timed := range h.Timed {
			r.Latency[name] = latency(timed, iv.Latency[name].HDR)
		}
	}
	// Of a second in which the generator was late, only the service time is certainly not its own.
	response := r.Latency[takt.LatencyResponse]
	r.Latency[takt.LatencyOnTime] = response
	if onTime := r.Latency[takt.LatencyService]; verdict.LateSecond(&iv) {
		onTime.Count = response.Count
		r.Latency[takt.LatencyOnTime] = onTime
	}
	// Every sent operation has a lag, but a service time only if there are answers.
	sent := r.Latency[takt.LatencyService].Count
	if sent == 0 && iv.ScheduleLagP99 > 0 {
		sent = ended
	}
	r.Latency[takt.LatencyScheduleLag] = takt.Latency{Count: sent, P99: iv.ScheduleLagP99}
	return r
}

// latency is a latency as a report has it.
func latency(h timeline.Histogram, encoded string) takt.Latency {
	full := hist.New()
	h.RecordIn(full)
	l := full.Figures()
	l.HDR = encoded
	return l
}

// InInterval says why one interval alone cannot judge a, and which metric it can judge; nil: it can
// judge a. closed: the run is a closed loop, which has no intended rate. timed are further latencies of the run.
func (a Assertion) InInterval(closed bool, timed []takt.Timed) error {
	switch {
	case a.InPart():
		return fmt.Errorf("condition %q: a single second has no steps and rounds; use --assert, or a figure of the whole run", a.Text)
	case a.Of == takt.LatencyScheduleLag:
		if a.Metric != "p99" {
			return fmt.Errorf("condition %q: a single second has only the p99 of schedule lag; use schedule_lag.p99", a.Text)
		}
	case a.Of != "":
		names := []string{takt.LatencyResponse, takt.LatencyService}
		for _, t := range timed {
			if t.Course {
				names = append(names, t.Name)
			}
		}
		return a.among("condition", "a single second", names...)
	case a.Metric == "unfinished":
		return fmt.Errorf("condition %q: what is unfinished is known at the end only; use failed, or ok==0 for a target that does not answer", a.Text)
	case a.Metric == "rate" && a.Unit == takt.UnitPercent && closed:
		return fmt.Errorf("condition %q: a closed loop has no intended rate; use rate with a number, as in rate<100/s", a.Text)
	}
	return nil
}

// WithoutGoal says that a load without conditions has no goodput; nil: a is about something else.
func (a Assertion) WithoutGoal(kind string) error {
	if a.Metric != stored.MetricGoodput {
		return nil
	}
	return fmt.Errorf("%s %q: %s", kind, a.Text, stored.NoGoodput)
}

// InRun says that a run with these latencies, besides those of every run, cannot judge a; nil: it can.
func (a Assertion) InRun(own []string) error {
	every := []string{takt.LatencyResponse, takt.LatencyResponseOK, takt.LatencyService, takt.LatencySend, takt.LatencyOnTime, takt.LatencySendDelay, takt.LatencyScheduleLag}
	return a.among("assertion", "this load", append(every, own...)...)
}

// among says that what is judged does not have the latency of a, but these.
func (a Assertion) among(kind, judged string, names ...string) error {
	if last := len(names) - 1; a.Of != "" && !slices.Contains(names, a.Of) {
		return fmt.Errorf("%s %q: %s has no %s time; use %s or %s", kind, a.Text, judged, a.Of, strings.Join(names[:last], ", "), names[last])
	}
	return nil
}

package claims_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/claims"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// run is the report of n operations, 100 a second, of 5 ms.
func run(n int) *takt.Report {
	h, c, lag := hist.New(), proof.New(time.Duration(n)*10*time.Millisecond), hist.New()
	for i := range n {
		h.Record(5 * time.Millisecond)
		c.Add(time.Duration(i)*10*time.Millisecond, 5*time.Millisecond, 1)
		lag.Record(400 * time.Microsecond)
	}
	rate, count := 100.0, uint64(n)
	return &takt.Report{
		Verdict: takt.Valid, DurationS: float64(n) / 100, Counts: takt.Counts{Scheduled: count, Sent: count, OK: count},
		Rate: takt.Rate{Intended: &rate, Achieved: rate}, Schedule: takt.Schedule{RatePerS: 100},
		Latency: map[string]takt.Latency{takt.LatencyResponse: proof.With(h.Summary(), h, c), takt.LatencyScheduleLag: lag.Summary()},
	}
}

func told(r *takt.Report) string {
	var list []string
	for _, c := range claims.Of(r) {
		mark := "-"
		if c.Supported {
			mark = "+"
		}
		list = append(list, fmt.Sprintf("%s %s %v", mark, c.Text, c.Level))
	}
	return strings.Join(list, "\n")
}

func TestClaims(t *testing.T) {
	invalid, failed, overloaded, old, closed, quota := run(1000), run(1000), run(1000), run(1000), run(1000), run(1000)
	quota.Warn(warn.Quota, "above the quota")
	invalid.Verdict = takt.Invalid
	failed.Counts.OK, failed.Counts.Failed = 0, 1000
	overloaded.Overload = &takt.Overload{DuePerS: 100, CompletedPerS: 71}
	l := old.Latency[takt.LatencyResponse]
	l.Blocks = nil
	old.Latency[takt.LatencyResponse] = l
	closed.Rate.Intended = nil
	const rare, late = "- what happens less often than once in ", "+ takt sent 99 % of the operations at most 400µs late 0\n"
	for name, c := range map[string]struct {
		r    *takt.Report
		want string
	}{
		"long":       {run(1000), "+ p99 of the response time is between 5ms and 5ms 0.95\n+ the target kept up with 100/s 0\n+ fewer than 0.3 % of the operations fail 0.95\n" + late + rare + "10s, such as a rare freeze 0"},
		"short":      {run(200), "+ p90 of the response time is between 5ms and 5ms 0.95\n+ fewer than 1.5 % of the operations fail 0.95\n- p99 of the response time: it needs about 370 operations, -z 4s at this rate 0\n- that the target keeps up with 100/s: that shows after 3 s at the earliest 0\n" + rare + "2s, such as a rare freeze 0"},
		"overloaded": {overloaded, "+ the target completes 71/s, and 100/s were due 0\n+ fewer than 0.3 % of the operations fail 0.95\n" + late + "- a response time: that of an overloaded target grows with the length of the run 0\n" + rare + "10s, such as a rare freeze 0"},
		"quota":      {quota, "+ p99 of the response time is between 5ms and 5ms 0.95\n+ fewer than 0.3 % of the operations fail 0.95\n" + late + "- that the brokers keep up with 100/s: their quota made takt wait 0\n" + rare + "10s, such as a rare freeze 0"},
		"closed":     {closed, "+ p99 of the response time is between 5ms and 5ms 0.95\n+ fewer than 0.3 % of the operations fail 0.95\n" + late + rare + "10s, such as a rare freeze 0"},
		"invalid":    {invalid, "- anything about the target: takt itself, or its host, shaped the figures 0"},
		"failed":     {failed, "- how long the target takes: not one operation succeeded 0"},
		"old":        {old, ""},
		"empty":      {new(takt.Report), ""},
	} {
		if got := told(c.r); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
		if n := len(claims.Of(c.r)); n > claims.Most {
			t.Errorf("%s: %d claims", name, n)
		}
	}
}

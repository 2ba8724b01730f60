package claims_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/claims"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/judge/stored"
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
	closed.Warnings = []takt.Warning{{Code: warn.ClosedLoop}}
	behind, reached, missed := run(300), run(1000), run(1000)
	for i := range 3 { // 70 of 100 a second, whose median grows from 200 ms on
		behind.Intervals = append(behind.Intervals, takt.Interval{T: float64(i + 1), Scheduled: 100, OK: 70, ResponseP50: float64(2+3*i) * 1e5})
	}
	for r, u := range map[*takt.Report]stored.Until{reached: {Known: 0.042, Reached: true}, missed: {}} {
		r.Variables = map[string]any{"until": "p99±5%"}
		u.Keep(r)
	}
	const rare, late = "- what happens less often than once in ", "+ takt sent 99 % of the operations within 401µs of their due time 0\n"
	for name, c := range map[string]struct {
		r    *takt.Report
		want string
	}{
		"long":       {run(1000), "+ the p99 of the response time is between 5ms and 5.01ms 0.95\n+ the target kept up with 100/s 0\n+ fewer than 0.3 % of the operations fail; none did 0.95\n" + late + rare + "10s, such as a rare freeze 0"},
		"short":      {run(200), "+ the p90 of the response time is between 5ms and 5.01ms 0.95\n+ fewer than 1.49 % of the operations fail; none did 0.95\n- how exact the p99 of the response time is (that takes about 370 operations, -z 4s at this rate) 0\n- whether the target keeps up with 100/s (that takes at least 3s) 0\n" + rare + "2s, such as a rare freeze 0"},
		"overloaded": {overloaded, "+ the target is overloaded: it completes 71/s of the 100/s that are due 0\n+ fewer than 0.3 % of the operations fail; none did 0.95\n" + late + "- the response time (that of an overloaded target grows with the length of the run) 0\n" + rare + "10s, such as a rare freeze 0"},
		"quota":      {quota, "+ the p99 of the response time is between 5ms and 5.01ms 0.95\n+ fewer than 0.3 % of the operations fail; none did 0.95\n" + late + "- whether the brokers keep up with 100/s (their quota made takt wait) 0\n" + rare + "10s, such as a rare freeze 0"},
		"closed":     {closed, "+ the p99 of the response time is between 5ms and 5.01ms 0.95\n+ fewer than 0.3 % of the operations fail; none did 0.95\n- the response time at a rate (a closed loop sends less while the target is slow) 0\n" + rare + "10s, such as a rare freeze 0"},
		"behind":     {behind, "+ fewer than 0.994 % of the operations fail; none did 0.95\n" + late + "- the response time of a longer run (the target was behind the schedule at its end) 0\n- whether the target keeps up with 100/s (it completed 70/s while the schedule lasted; a longer run shows it) 0\n" + rare + "3s, such as a rare freeze 0"},
		"reached":    {reached, "+ the p99 of the response time is between 5ms and 5.01ms 0.95\n+ p99±5%, the goal of --until, is reached: the newest look found ±4.2 % 0.95\n+ the target kept up with 100/s 0\n+ fewer than 0.3 % of the operations fail; none did 0.95\n" + rare + "10s, such as a rare freeze 0"},
		"missed":     {missed, "+ the p99 of the response time is between 5ms and 5.01ms 0.95\n+ the target kept up with 100/s 0\n+ fewer than 0.3 % of the operations fail; none did 0.95\n- p99±5%, the goal of --until (the newest look found no interval) 0\n" + rare + "10s, such as a rare freeze 0"},
		"invalid":    {invalid, "- how the target behaves (takt itself, or its host, shaped the figures) 0"},
		"failed":     {failed, "- how long the target takes (not one operation succeeded) 0"},
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

// A claim and an assertion of one run name the same number of operations for a percentile, also where the assertion
// asks for another level.
func TestOneNeed(t *testing.T) {
	for _, text := range []string{"p99<250ms", "p99<250ms@99%", "p99>1ms", "p99<1ms"} {
		list, faults := assert.ParseAssertions(text)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		r := run(200)
		claims.Judge(r, list)
		p := r.Assertions[0].Proof
		if p.Proven { // a breach may be proven by 200
			continue
		}
		want := fmt.Sprintf("whether the target meets %s (that takes about %d operations, ", list[0].Condition(), p.Needs)
		if !slices.ContainsFunc(r.Claims, func(c takt.Claim) bool { return strings.HasPrefix(c.Text, want) }) || !strings.Contains(r.Assertions[0].Reason, fmt.Sprintf("needs about %d operations", p.Needs)) {
			t.Errorf("%s: %v, want %q", r.Assertions[0], r.Claims, want)
		}
	}
}

// A broker that refuses to be faster than its quota is not overloaded, and not behind.
func TestClaimsAboveQuota(t *testing.T) {
	behind, over := run(300), run(1000)
	for i := range 3 {
		behind.Intervals = append(behind.Intervals, takt.Interval{T: float64(i + 1), Scheduled: 100, OK: 50, ResponseP50: float64(2+5*i) * 1e5})
	}
	over.Overload = &takt.Overload{DuePerS: 100, CompletedPerS: 50}
	for name, r := range map[string]*takt.Report{"behind": behind, "overloaded": over} {
		r.Warn(warn.Quota, "above the quota")
		if got := told(r); !strings.Contains(got, "- whether the brokers keep up with 100/s (their quota made takt wait)") || !strings.Contains(got, "above the quota of the brokers") || strings.Contains(got, "target is overloaded") || strings.Contains(got, "the target was behind") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

package assert

import (
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// At its bound an assertion holds if it has the sign of equality.
func TestAssertionBounds(t *testing.T) {
	r := &takt.Report{Verdict: takt.Valid, Counts: takt.Counts{Scheduled: 200, OK: 190, Failed: 2, Dropped: 4, Unfinished: 4}, Latency: map[string]takt.Latency{"response": {Count: 1, P99: 1000}}}
	for text, want := range map[string]takt.Outcome{
		"p99<1ms": takt.Fail, "p99<=1ms": takt.Pass, "p99==1ms": takt.Pass, "p99>=1ms": takt.Pass, "p99>1ms": takt.Fail,
		"p99<1001us": takt.Pass, "p99<=999us": takt.Fail, "p99==999us": takt.Fail, "p99>=1001us": takt.Fail, "p99>999us": takt.Pass,
		"dropped<=2%": takt.Pass, "dropped<2%": takt.Fail, "unfinished<=4": takt.Pass, "failed<=1%": takt.Pass, "ok>=95%": takt.Pass, "ok>95%": takt.Fail,
	} {
		a, err := ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Check(r); got.Result != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for v, want := range map[float64]string{0: "0", 1: "1", 100: "100", 0.5: "0.5", 0.12344: "0.1234", 0.00004: "0", 1.00005: "1.0001"} {
		if got := stored.Decimal(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

// Each bound has its unit, and each assertion says what happens at its bound.
func TestUnits(t *testing.T) {
	for text, want := range map[string]struct {
		unit takt.Unit
		at   string
	}{
		"p95<300ms": {takt.UnitMicroseconds, "p95 reaches 300ms"}, "service.max>=2s": {takt.UnitMicroseconds, "service.max falls to 2s"},
		"errors<=1%": {takt.UnitPercent, "errors reaches 1 %"}, "errors==0": {takt.UnitPercent, "errors reaches 0 %"},
		"rate>99%": {takt.UnitPercent, "rate falls to 99 %"}, "rate>=990/s": {takt.UnitPerSecond, "rate falls to 990/s"}, "ok>=5": {takt.UnitCount, "ok falls to 5"},
	} {
		if a, err := ParseAssertion(text); err != nil || a.Unit != want.unit || a.Break() != want.at {
			t.Errorf("%s: unit %q, %q, %v, want %q, %q", text, a.Unit, a.Break(), err, want.unit, want.at)
		}
	}
}

// One dropped operation is one too many for a percentile, and a rate of nothing has no share.
func TestFewOperations(t *testing.T) {
	for text, c := range map[string]struct {
		intended float64
		want     string
	}{
		"p99<1s":    {1, "PASS p99<1s (p99 was 1ms; 1 dropped operations are not included)"},
		"rate>=50%": {1, "PASS rate>=50% (rate was 50 %)"},
		"rate>=51%": {0, "FAIL rate>=51% (no operation was due)"},
	} {
		r := &takt.Report{Counts: takt.Counts{OK: 1, Dropped: 1}, Rate: takt.Rate{Intended: &c.intended, Achieved: 0.5}, Latency: map[string]takt.Latency{"response": {Count: 1, P99: 1000}}}
		a, err := ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Check(r).String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// The lag of a second is that of all operations with a service time; without answers, of all that
// ended. A second of no length has no rate.
func TestIntervalBounds(t *testing.T) {
	five := hist.New()
	five.RecordN(1000, 5)
	for _, c := range []struct {
		iv   takt.Interval
		want uint64
	}{
		{takt.Interval{OK: 7, ScheduleLagP99: 3, ServiceHDR: five.Encode()}, 5},
		{takt.Interval{OK: 7, ScheduleLagP99: 1}, 7},
		{takt.Interval{OK: 7}, 0},
	} {
		r := OfInterval(c.iv, nil, 0)
		if got := r.Latency[takt.LatencyScheduleLag].Count; got != c.want || r.Rate != (takt.Rate{}) {
			t.Errorf("%+v: lag of %d, rate %+v", c.iv, got, r.Rate)
		}
	}
}

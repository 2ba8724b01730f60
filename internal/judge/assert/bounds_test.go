package assert

import (
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
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

package format_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// stopped is a valid run of 32 operations of 10 ms, of which takt sent one 900 ms late.
func stopped() *takt.Report {
	r, response, onTime := base(), hist.New(), hist.New()
	onTime.RecordN(10*time.Millisecond, 32)
	response.RecordN(10*time.Millisecond, 31)
	response.Record(910 * time.Millisecond)
	r.Counts = takt.Counts{Scheduled: 32, Sent: 32, OK: 32}
	r.Latency = map[string]takt.Latency{takt.LatencyResponse: response.Summary(), takt.LatencyService: onTime.Summary(), takt.LatencyOnTime: onTime.Summary()}
	assert.Judge(r, []assert.Assertion{{Text: "p99<200ms", Of: "response", Metric: "p99", Op: "<", Bound: 200e3, Unit: takt.UnitMicroseconds}})
	return r
}

// Figures that are takt's own lateness are marked wherever people read them, and the assertion that they
// decide blames nobody.
func TestOwnLateness(t *testing.T) {
	r := stopped()
	for name, want := range map[string][]string{
		"text": {
			"p95 10.00 10.00 ", "p99 – – ", "max 910.2 * 10.00 ",
			"* takt's own lateness; without it: mean 10ms, max 10ms ",
			"VOID p99<200ms (p99 was 910ms, but without takt's own lateness 10ms) ", " valid run, 1 of 1 assertion void: 32 of 32 ok",
		},
		"markdown": {"| response | 32 | 10.00 | 10.00 | – | – | 910.2\\* |\n", "\n\\* takt's own lateness; without it: mean 10ms, ", "| `p99<200ms` | **VOID** | p99 was 910ms, but without takt's own lateness 10ms |"},
		"junit":    {`tests="2" failures="0" errors="1"`, `<error type="void" message="p99 was 910ms, but without takt&#39;s own lateness 10ms">`},
		"html":     {"910ms*", "10ms without takt&#39;s own lateness", "but some figures are its own lateness", "* takt&#39;s own lateness; without it: mean 10ms, "},
		"json":     {`"result": "void"`, `"on_time": {`},
	} {
		got := replay(t, name, r)
		if name == "text" {
			got = strings.Join(strings.Fields(got), " ")
		}
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is not in\n%.3000s", name, w, got)
			}
		}
	}
}

// What lateness did not do is not marked: it did less than a tenth, or less than a host's timers do, or it
// is not known.
func TestNotOwnLateness(t *testing.T) {
	few, little, old := stopped(), stopped(), stopped()
	few.Latency[takt.LatencyOnTime] = few.Latency[takt.LatencyResponse]
	felt := takt.Latency{Count: 32, P99: 500, Max: 500, HDR: few.Latency[takt.LatencyService].HDR}
	little.Latency[takt.LatencyResponse] = felt
	felt.P99, felt.Max = 310, 310
	little.Latency[takt.LatencyOnTime] = felt
	delete(old.Latency, takt.LatencyOnTime)
	for name, r := range map[string]*takt.Report{"a tenth": few, "190 µs": little, "an older takt": old} {
		r.Assertions = nil
		for _, format := range []string{"text", "markdown", "html"} {
			if got := replay(t, format, r); strings.Contains(got, "own lateness") {
				t.Errorf("%s in %s: %s", name, format, got)
			}
		}
	}
}

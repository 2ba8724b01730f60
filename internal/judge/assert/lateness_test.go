package assert_test

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/pkg/takt"
)

// late is a run of 100 operations whose p99 of 1 s is 10 ms without takt's own lateness.
func late(verdict takt.Verdict, codes ...takt.WarningCode) *takt.Report {
	intended := 100.0
	r := &takt.Report{
		Counts: takt.Counts{Scheduled: 100, Sent: 100, OK: 100}, Verdict: verdict,
		Rate: takt.Rate{Intended: &intended, Achieved: 100},
		Latency: map[string]takt.Latency{
			"response": {Count: 100, P99: 1e6, Max: 1e6}, "response_ok": {Count: 100, P99: 1e6},
			"on_time": {Count: 100, P99: 1e4, Max: 2e4}, "service": {Count: 100, P99: 9e3},
		},
	}
	for _, code := range codes {
		r.Warn(code, "%s", code)
	}
	return r
}

func judged(t *testing.T, r *takt.Report, texts ...string) string {
	t.Helper()
	list, faults := assert.ParseAssertions(texts...)
	if faults != nil {
		t.Fatal(faults)
	}
	assert.Judge(r, list)
	var lines []string
	for _, a := range r.Assertions {
		lines = append(lines, a.String())
	}
	return strings.Join(lines, "; ")
}

// Each latency is judged by what lateness did to it.
func TestLateness(t *testing.T) {
	const lateness = "generator_bottleneck"
	for _, c := range []struct {
		r          *takt.Report
		text, want string
	}{
		{late(takt.Valid), "p99<2s", "PASS p99<2s (p99 was 1s)"},
		{late(takt.Valid), "p99<200ms", "VOID p99<200ms (p99 was 1s, but without takt's own lateness 10ms)"},
		{late(takt.Valid), "max<=20ms", "VOID max<=20ms (max was 1s, but without takt's own lateness 20ms)"},
		{late(takt.Valid), "response_ok.p99<200ms", "VOID response_ok.p99<200ms (response_ok.p99 was 1s, but without takt's own lateness 10ms)"},
		{late(takt.Valid), "p99<5ms", "FAIL p99<5ms (p99 was 1s)"},
		{late(takt.Valid), "service.p99<5ms", "FAIL service.p99<5ms (service.p99 was 9ms)"},
		{late(takt.Valid), "p99>200ms", "PASS p99>200ms (p99 was 1s)"},
		{late(takt.Invalid, lateness), "p99<2s", "PASS p99<2s (p99 was 1s, with takt's own lateness)"},
		{late(takt.Invalid, "generator_backlog", "gc"), "p99<2s", "PASS p99<2s (p99 was 1s, with takt's own lateness)"},
		{late(takt.Invalid, lateness), "p99<200ms", "VOID p99<200ms (p99 was 1s, but without takt's own lateness 10ms)"},
		{late(takt.Invalid, lateness), "p99<5ms", "FAIL p99<5ms (p99 was 1s, without takt's own lateness 10ms)"},
		{late(takt.Invalid, lateness), "errors<1%", "VOID errors<1% (errors was 0 %, but the run is invalid)"},
		{late(takt.Invalid, lateness), "service.p99<1s", "VOID service.p99<1s (service.p99 was 9ms, but the run is invalid)"},
		{late(takt.Invalid, lateness), "p99>200ms", "VOID p99>200ms (p99 was 1s, but the run is invalid)"},
		{late(takt.Invalid, lateness), "tls.p99<1s", "VOID tls.p99<1s (the report has no latency \"tls\"; it has on_time, response, response_ok, service, but the run is invalid)"},
		{late(takt.Invalid, lateness, "generator_behind"), "p99<2s", "VOID p99<2s (p99 was 1s, but the run is invalid)"},
		{late(takt.Invalid, lateness, "host_limit"), "p99<2s", "VOID p99<2s (p99 was 1s, but the run is invalid)"},
		{late(takt.Invalid, lateness, "generator_saturated"), "p99<5ms", "VOID p99<5ms (p99 was 1s, but the run is invalid)"},
		{late(takt.Invalid), "p99<2s", "VOID p99<2s (p99 was 1s, but the run is invalid)"},
	} {
		if got := judged(t, c.r, c.text); got != c.want {
			t.Errorf("%s %v: got %s, want %s", c.r.Verdict, c.r.Warnings, got, c.want)
		}
	}
}

// What a report does not know does not decide: that of an older takt has no figures without lateness, and
// failed operations are in them.
func TestLatenessUnknown(t *testing.T) {
	old, failures := late(takt.Valid), late(takt.Valid)
	delete(old.Latency, "on_time")
	failures.Latency["response_ok"] = takt.Latency{Count: 99, P99: 1e6}
	for _, c := range []struct {
		r          *takt.Report
		text, want string
	}{
		{old, "p99<200ms", "FAIL p99<200ms (p99 was 1s)"},
		{failures, "response_ok.p99<200ms", "FAIL response_ok.p99<200ms (response_ok.p99 was 1s)"},
	} {
		if got := judged(t, c.r, c.text); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	old.Verdict = takt.Invalid
	old.Warn("generator_bottleneck", "late")
	const want = "PASS p99<2s (p99 was 1s, with takt's own lateness); VOID p99<5ms (p99 was 1s, but the run is invalid)"
	if got := judged(t, old, "p99<2s,p99<5ms"); got != want {
		t.Errorf("of an older takt: %s, want %s", got, want)
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
)

// takt trace stats says what a log is, shows requests without the escapes of terminals, and lists faults.
func TestTraceStats(t *testing.T) {
	const line = `10.0.0.1\x1b[31m - - [20/Nov/2026:%H:00:00 +0000] "GET /\x1b[31ma HTTP/1.1" 200 5 "-" "ua"` + "\n"
	text := strings.ReplaceAll(line, `\x1b`, "\x1b")
	log := strings.Repeat(strings.Replace(text, "%H", "09", 1), 60) + strings.Repeat(strings.Replace(text, "%H", "12", 1), 30) + text[:40]
	stats := func(args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		code := Main(core.Env{Stdin: strings.NewReader(log), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Interrupt: t.Context()}, append([]string{"trace", "stats", "--zone", "UTC", "-"}, args...))
		return out.String(), errs.String(), code
	}
	out, errs, code := stats()
	for _, want := range []string{
		"standard input is combined (90 of the first 90 lines fit; no other format fits one of the first 50)\n",
		"\nline 3      start 2026-11-20 09:00:00.000 +0000 ± 1 s, GET /%1B[31ma, status 200, 5 bytes, client 10.0.0.1\\x1b[31m\n",
		"\nfault       truncated: the last line is cut short: standard input:91\n",
		"\nfault       gaps: 1 without requests for more than 1m, up to 3h; a clock that was set forward looks the same: standard input:60 (2026-11-20 09:00:00) to standard input:61",
		"\nwindow      the longest part of standard input without a gap or a step: ",
		"\nrequests    90\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%d, %s%s\nwant %s", code, out, errs, want)
		}
	}
	if strings.Contains(out+errs, "\x1b") {
		t.Errorf("escapes: %q %q", out, errs)
	}
	var report struct {
		Requests int
		Logs     []struct {
			Guess  struct{ Format string }
			Faults []struct{ Kind string }
		}
		Examples []struct{ Target string }
	}
	out, _, _ = stats("-o", "json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Requests != 90 || len(report.Logs) != 1 || report.Logs[0].Guess.Format != "combined" || len(report.Logs[0].Faults) < 2 || len(report.Examples) != 3 {
		t.Errorf("%v: %s", err, out)
	}
	step := strings.Repeat(strings.Replace(text, "%H", "12", 1), 20) + strings.Repeat(strings.Replace(text, "%H", "09", 1), 20)
	whole := log
	log = step
	if out, _, _ = stats(); !strings.Contains(out, "\nnote        the rates, the gap and the times are not right, because of the step; choose a part with --window, or --from and --for\nrequests") {
		t.Error(out)
	}
	if out, _, _ = stats("-o", "json", "--window", "12:00.."); !strings.Contains(out, `"skewed": "the rates, the gap and the times are right only if the chosen part is without the step"`) {
		t.Error(out)
	}
	log = whole
	if out, _, _ = stats("--window", "12:00.."); !strings.Contains(out, "\nrequests    30\n") {
		t.Error(out)
	}
}

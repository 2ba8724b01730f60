package format_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/pkg/takt"
)

// The contrast stands beside what users felt, also when the report was stored.
func TestContrast(t *testing.T) {
	r := base()
	r.Latency[takt.LatencyResponse] = takt.Latency{Count: 5000, P50: 1_250, P90: 2_000, P95: 400_000, P99: 950_500, Max: 1_000_000}
	r.Extra["contrast"] = map[string]any{
		"tool": "hey", "connections": 50, "duration_s": 5.0, "requests": 70123.0,
		"p50_us": 1_100.0, "p90_us": 1_500.0, "p95_us": 1_700.0, "p99_us": 2_400.0, "max_us": 1_001_000.0,
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var stored takt.Report
	if err := json.Unmarshal(b, &stored); err != nil {
		t.Fatal(err)
	}
	want := `
contrast, ms       hey says    users felt
  p50                 1.100         1.250
  p90                 1.500         2.000
  p95                 1.700       400.0
  p99                 2.400       950.5
  max              1001          1000
  hey sent 70123 requests in 5s as a closed loop, which waits for each answer
  before it sends the next: a stall delays 50 requests, and those that users
  would have sent meanwhile are in no figure.
`
	for _, report := range []*takt.Report{r, &stored} {
		var out strings.Builder
		if err := format.Replay(format.Text(false), &out, report); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nwant in it:%s", &out, want)
		}
	}
}

// A contrast whose requests all failed shows that, and no figures.
func TestContrastFailed(t *testing.T) {
	r := base()
	r.Latency[takt.LatencyResponse] = takt.Latency{Count: 5000, P50: 1_250, Max: 2_000}
	r.Extra["contrast"] = map[string]any{"tool": "hey", "connections": 50, "duration_s": 5.0, "requests": 5536.0, "errors": 5536.0}
	var out strings.Builder
	if err := format.Replay(format.Text(false), &out, r); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "hey sent 5536 requests, of which 5536 failed, in 5s") || strings.Contains(text, "hey says") {
		t.Error(text)
	}
}

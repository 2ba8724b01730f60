package format_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/pkg/takt"
)

// The figures of targets and servers stand below the errors, also when the report was
// stored, and volumes there only.
func TestTargets(t *testing.T) {
	r := base()
	r.Extra = map[string]any{
		"pushed": 1_634_523.4, "accepted": 1_600_000.0, "pushed_wire": 300_000.0, "accepted_wire": 290_000.0, "latency": 4.632, "bodies": 16,
		"targets": []any{
			map[string]any{"url": "http://a:8200/v1/errors\x1b[2J", "index": 0.0, "responses": 8.0, "responses_per_s": 0.8, "status": map[string]any{"202": 6.0, "503": 2.0}},
			map[string]any{"url": "http://b:8200/v1/errors", "index": 1.0, "responses": 0.0, "responses_per_s": 0.0, "status": map[string]any{}},
		},
		"servers": []any{
			map[string]any{"url": "http://a:8200", "responses": 8.0, "failed": 3.0, "service_p50_us": 1_250.0, "service_p99_us": 2_000.0, "service_max_us": 2_500.0},
			map[string]any{"url": "http://b:8200", "responses": 0.0},
		},
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
targets
  http://a:8200/v1/errors·[2J 0
    [202]  6 responses (75.00 %)
    [503]  2 responses (25.00 %)
    total  8 responses (0.80 a second)
  http://b:8200/v1/errors 1
    total  0 responses (0.00 a second)
  http://a:8200: 8 responses, 3 failed, service p50 1.25ms, p99 2ms, max 2.5ms
  http://b:8200: 0 responses
pushed       1.56 MiB/s, accepted 1.53 MiB/s; on the wire 293 KiB/s, accepted
             283 KiB/s
             4.63 ms / request: 1000 ÷ requests accepted a second, no response
             time

extra        bodies 16
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

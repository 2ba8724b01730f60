package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// Text and Markdown have the service time of a step beside its response time, and its checks below it.
func TestSteps(t *testing.T) {
	r := &takt.Report{Extra: map[string]any{"steps": []any{map[string]any{
		"name": "log in", "ok": 3.0, "failed": 1.0, "skipped": 0.0,
		"response_p50_us": 41e3, "response_p99_us": 61e3, "response_max_us": 62e3, "service_p50_us": 20e3, "service_p99_us": 21e3,
		"checks": []any{map[string]any{"check": "status 201", "passed": 3.0, "failed": 1.0}},
	}}}}
	one := stepsOf(&run{Report: r, unit: unitOf(r)})
	p := &page.Page{}
	part.WriteText(p, one)
	var out bytes.Buffer
	if err := p.Print(&out); err != nil {
		t.Fatal(err)
	}
	var md strings.Builder
	part.WriteMarkdown(&md, one)
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if len(line) > 90 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	squeezed := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(squeezed, "log in 3 1 0 41000 61000 62000 20000 21000 └ status 201 3 1") || !strings.Contains(md.String(), "| 41000 | 61000 | 62000 | 20000 | 21000 |") {
		t.Errorf("%s\n%s", &out, &md)
	}
}

// The users of a log are in one line, and not the rounds of a scenario.
func TestUsersLine(t *testing.T) {
	users := map[string]any{"count": uint64(20), "connections_max": 7}
	r := &takt.Report{Extra: map[string]any{"users": users}}
	if got := crowd(r); got != "" {
		t.Error(got)
	}
	users["without_user"] = uint64(0)
	if got := crowd(r); got != "20, up to 7 connected at once" {
		t.Error(got)
	}
	users["without_user"] = 3.0 // of a stored report
	if got := crowd(r); got != "20, up to 7 connected at once, 3 requests without a user counted as one each" {
		t.Error(got)
	}
}

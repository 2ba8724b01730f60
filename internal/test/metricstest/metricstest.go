// Package metricstest has what tests of exporters share.
package metricstest

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Hostile is a label that no format may take for its own syntax.
const Hostile = "a\"b\\c\nd,e=f g{h}\x7f # EOF"

// Start is the start of the run of Batches.
var Start = time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC)

// Objects calls do for all objects in a JSON file, such as the panels and queries of a dashboard.
func Objects(t *testing.T, path string, do func(object map[string]any)) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		case map[string]any:
			do(v)
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(all)
}

// Batches are those of a run of two seconds and its end.
func Batches(t *testing.T, shard string) []*metrics.Batch {
	t.Helper()
	run := &metrics.Run{
		ID: "01KB", Kind: "http", Target: "http://127.0.0.1:8080/", Shard: shard, Version: "1.2.3",
		Labels: map[string]string{"revision": "abc", "a.b": "1", "a_b": "2", "hostile": Hostile, "empty": "", "9": "x\\"},
	}
	used, unread := 250*time.Millisecond, int64(3)
	one := &metrics.Batch{
		Run: run, Started: Start, From: Start, To: Start.Add(time.Second), Warmup: true,
		Last:     figures(t, 1000, 2, time.Millisecond, 20*time.Millisecond),
		InFlight: 7, ScheduleLagP99: 50 * time.Microsecond, CPU: &used, Unread: &unread,
	}
	one.Total = one.Last
	two := *one
	two.From, two.To, two.Warmup = one.To, Start.Add(1900*time.Millisecond), false
	two.Total = figures(t, 2000, 4, time.Millisecond, 20*time.Millisecond)
	end := &metrics.Batch{Run: run, Started: Start, From: two.To, To: two.To, Over: true, Total: two.Total, CPU: &used, Verdict: takt.Valid}
	end.Total.Unfinished = 5
	return []*metrics.Batch{one, &two, end}
}

// figures are those of n operations that need the time fast, and failed ones that need the time slow.
func figures(t *testing.T, n, failed uint64, fast, slow time.Duration) metrics.Figures {
	t.Helper()
	full := hist.New()
	full.RecordN(fast, n)
	full.RecordN(slow, failed)
	h, err := timeline.Decode(new(hist.Decoder), full.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return metrics.Figures{Scheduled: n + failed, OK: n, Failed: failed, Errors: map[string]uint64{"5xx": failed}, Bytes: &takt.Bytes{Sent: int64(n), Received: int64(20 * n)}, Response: h, Service: h}
}

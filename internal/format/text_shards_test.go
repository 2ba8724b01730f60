package format_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// part is a line of a merged report about a shard.
func part(k, n int, lag, response float64, verdict string) any {
	return map[string]any{
		"shard": fmt.Sprintf("%d/%d", k, n), "achieved_per_s": 99.95, "schedule_lag_p99_us": lag, "response_p99_us": response, "cpu_percent": 41.6, "verdict": verdict,
	}
}

// The worst shards come first: invalid ones, then the later, then the slower.
func TestTextOfShards(t *testing.T) {
	r := base()
	r.Extra = map[string]any{"shards": 7, "parts": []any{
		part(1, 7, 10, 1000, "valid"), part(2, 7, 30, 1000, "valid"), part(3, 7, 20, 1000, "valid"), part(4, 7, 20, 3000, "valid"),
		part(5, 7, 5, 1000, "invalid"), part(6, 7, 6, 1000, "invalid"), part(7, 7, 1, 1000, "valid"),
	}}
	const want = "the worst 5 of 7 shards\n" +
		"  shard  achieved  lag p99  p99   CPU  verdict\n" +
		"  6/7       100/s      6µs  1ms  42 %  invalid\n" +
		"  5/7       100/s      5µs  1ms  42 %  invalid\n" +
		"  2/7       100/s     30µs  1ms  42 %  valid\n" +
		"  4/7       100/s     20µs  3ms  42 %  valid\n" +
		"  3/7       100/s     20µs  1ms  42 %  valid\n\n"
	if got := replay(t, "text", r); !strings.Contains(got, want) {
		t.Errorf("%s\nhas no\n%s", got, want)
	}
	const markdown = "\nThe worst 5 of 7 shards:\n\n| shard | achieved | lag p99 | p99 | CPU | verdict |\n|---|---:|---:|---:|---:|---|\n| `6/7` | 100/s | 6µs | 1ms | 42 % | invalid |\n"
	if got := replay(t, "markdown", r); !strings.Contains(got, markdown) || strings.Count(got, "/7` |") != 5 {
		t.Errorf("%s\nhas no\n%s", got, markdown)
	}
}

// A table has no column of what no shard says, and a dash for what one does not say. Anybody may have
// written the report.
func TestTextOfOddShards(t *testing.T) {
	odd := func(extra map[string]any) *takt.Report {
		r := base()
		r.Extra = extra
		return r
	}
	for name, c := range map[string]struct {
		extra map[string]any
		want  string // "": no table
	}{
		"old":        {map[string]any{"shards": 2, "parts": []any{map[string]any{"shard": "1/2", "achieved_per_s": 5.0, "verdict": "valid"}}}, "1 shard shard achieved verdict 1/2 5/s valid"},
		"unknown":    {map[string]any{"shards": 2.0, "parts": []any{part(1, 2, 0, 5, "valid"), part(2, 2, 1, 0, "valid")}}, "2 shards shard achieved lag p99 p99 CPU verdict 2/2 100/s 1µs – 42 % valid 1/2 100/s – 5µs 42 % valid"},
		"hosts":      {map[string]any{"shards": 1, "parts": []any{map[string]any{"shard": "1/1\x1b[31m", "host": strings.Repeat("h", 30) + "\n"}}}, "shard host achieved verdict 1/1·[31m " + strings.Repeat("h", 19) + "… 0/s"},
		"no shards":  {map[string]any{"parts": []any{part(1, 2, 0, 5, "valid")}}, ""},
		"no list":    {map[string]any{"shards": 2, "parts": "all"}, ""},
		"no objects": {map[string]any{"shards": 2, "parts": []any{1.0, nil, map[string]any{"shard": 1}}}, ""},
	} {
		got := shown(t, odd(c.extra))
		if !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "verdict") {
			t.Errorf("%s: %s\nhas no %q", name, got, c.want)
		}
	}
}

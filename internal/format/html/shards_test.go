package html_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/pkg/takt"
)

// whole is a merged run of n shards. Each seventh shard is invalid.
func whole(r *takt.Report, n int) *takt.Report {
	random := rand.New(rand.NewPCG(3, 4))
	var parts []any
	for k := 1; k <= n; k++ {
		part := map[string]any{
			"shard": fmt.Sprintf("%d/%d", k, n), "id": fmt.Sprintf("01JD%022d", random.Int64()), "host": fmt.Sprint("node-", k%20, payload),
			"started_at": r.StartedAt.Add(time.Duration(random.IntN(1e6))).Format(time.RFC3339Nano), "achieved_per_s": 100 + random.Float64(),
			"schedule_lag_p99_us": 900 * random.Float64(), "response_p99_us": 5e5 * random.Float64(), "cpu_percent": 60 * random.Float64(), "verdict": "valid",
		}
		if k%7 == 0 {
			part["verdict"] = "invalid"
		}
		parts = append(parts, part)
	}
	r.Extra = map[string]any{"shards": n, "parts": parts}
	return r
}

// The page of many shards has the worst of them, and is small enough to be sent.
func TestPageOfManyShards(t *testing.T) {
	for n, lead := range map[int]string{0: "", 3: "", 50: "", 1000: "The worst 50 of 1000 shards; the report as JSON has all."} {
		r := run(10, 100)
		if n == 1000 {
			r = run(300, 1000)
		}
		if n > 0 {
			whole(r, n)
		}
		var b bytes.Buffer
		if err := html.Report(&b, r); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		if rows := strings.Count(page, fmt.Sprintf("/%d<td", n)); rows != min(n, 50) || (n > 0) != strings.Contains(page, `id="shard-table"`) {
			t.Errorf("%d shards: %d rows", n, rows)
		}
		if !strings.Contains(page, lead) || b.Len() > 500_000 || strings.Contains(page, "<img src=x") {
			t.Errorf("%d shards: %d bytes, want %q", n, b.Len(), lead)
		}
	}
}

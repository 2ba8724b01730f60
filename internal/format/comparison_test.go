package format_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/pkg/takt"
)

// What was recorded stands beside what came, also when the report was stored.
func TestComparison(t *testing.T) {
	r := base()
	r.Latency[takt.LatencyResponse] = takt.Latency{Count: 5000, P50: 1_250, Max: 2_000}
	r.Extra["comparison"] = map[string]any{
		"classes": []any{
			map[string]any{"class": "GET 2xx", "count": 9.0, "with_latency": 8.0, "recorded_p50_us": 30_000.0, "recorded_p95_us": 31_500.0,
				"recorded_p99_us": 120_000.0, "response_p50_us": 1_250.0, "response_p95_us": 1_500.0, "response_p99_us": 2_000.0},
			map[string]any{"class": "GET none", "count": 1.0, "with_latency": 0.0},
		},
		"statuses": []any{
			map[string]any{"recorded": 0.0, "replayed": 200.0, "count": 1.0, "verdict": "not comparable"},
			map[string]any{"recorded": 200.0, "replayed": 0.0, "count": 9.0, "verdict": "no answer"},
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
	for name, want := range map[string]string{
		"text": `
                                         recorded                   response
latency, ms      count      p50      p95      p99      p50      p95      p99
  GET 2xx            8    30.00    31.50    120.0    1.250    1.500    2.000

status         recorded  replayed     count
                   none       200         1   not comparable
                    200      none         9   no answer
`,
		"markdown": `
| recorded and replayed, ms | count | recorded p50 | p95 | p99 | response p50 | p95 | p99 |
|---|---:|---:|---:|---:|---:|---:|---:|
| GET 2xx | 8 | 30.00 | 31.50 | 120.0 | 1.250 | 1.500 | 2.000 |

| status recorded | replayed | count | |
|---:|---:|---:|---|
| none | 200 | 1 | not comparable |
| 200 | none | 9 | no answer |
`,
	} {
		f, _, err := format.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, report := range []*takt.Report{r, &stored} {
			var out strings.Builder
			if err := format.Replay(f, &out, report); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s\nwant in it:%s", &out, want)
			}
		}
	}
	var out strings.Builder
	if err := format.Replay(format.Text(false), &out, base()); err != nil || strings.Contains(out.String(), "recorded") {
		t.Errorf("%v, %s", err, &out)
	}
}

// A step begins with its comment, once, and rows of the one before it may follow.
func TestLoad(t *testing.T) {
	for _, steps := range []bool{true, false} {
		head := takt.Report{Variables: map[string]any{}}
		if steps {
			head.Variables["step_per_s"] = 10.0
		}
		var out strings.Builder
		w, err := format.Load().Open(&out, head)
		if err != nil {
			t.Fatal(err)
		}
		var list []trace.Record
		for _, rate := range []float64{10, 20, 10, 20} {
			list = append(list, trace.Record{
				At: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Latency: 1500 * time.Microsecond, Transfer: 500 * time.Microsecond,
				Status: 404, Expected: 200, Bytes: 6, Method: []byte("GET"), URI: []byte("/a"), Offered: rate,
			})
		}
		asked := w.(format.AskedWriter)
		if err := asked.Records(list[:1]); err != nil {
			t.Fatal(err)
		}
		if err := asked.Records(list[1:]); err != nil {
			t.Fatal(err)
		}
		row := "2026-11-20 10:00:00.000 0.001000 0.000500 0 6 a 404 GET R  expectedRC=200\n"
		ten, twenty := strings.Replace(row, "R", "10", 1), strings.Replace(row, "R", "20", 1)
		want := convert.LoadHead + ten + twenty + ten + twenty
		if steps {
			want = convert.LoadHead + "#request/second = 10\n" + ten + "#request/second = 20\n" + twenty + ten + twenty
		}
		if out.String() != want {
			t.Errorf("%s\nwant\n%s", &out, want)
		}
	}
	if format.CanReplay(format.Load()) == nil {
		t.Error("a report has no operations")
	}
}

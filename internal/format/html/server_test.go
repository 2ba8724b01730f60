package html_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/pkg/takt"
)

// served is a run whose server was watched: its seconds begin 0.3 s before those of the run, and
// one is unknown.
func served(n int) *takt.Report {
	r := run(n, 2)
	for i := range n + 1 {
		s := takt.ServerSecond{From: float64(i) - 0.3, T: float64(i) + 0.7, Figures: map[string]float64{
			"accepted": 1000, "acked": float64(900 + i), "dropped": 0, "queued": float64(10 * i), "rss_bytes": 64 << 20, "heap_bytes": 30 << 20,
			"cpu_s": 0.5, "gc_cycles": 4, "gc_pause_s": 0.001, "log_errors": float64(i % 2), "log_warnings": 0,
		}}
		if i == 3 {
			s.Figures = map[string]float64{}
		}
		r.ServerSeconds = append(r.ServerSeconds, s)
	}
	return r
}

func pageOf(t *testing.T, r *takt.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.Report(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page has the server below the latency: charts that end with the run, and a table.
func TestServerSeconds(t *testing.T) {
	page := pageOf(t, served(10))
	for _, want := range []string{"Server: events a second", "Server: memory", "Server: CPU, of one core", "Server: lines of its log a second", `>700ms<`, "50 %", "64\u00a0MiB", ` id="server-seconds"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(page, ">dropped</th>") || strings.Contains(page, ">log warnings<") {
		t.Error("figures that are always 0 are shown")
	}
	if strings.Contains(pageOf(t, run(10, 20)), "server-seconds") {
		t.Error("a run without a watched server has a chart of it")
	}
}

// A page of the largest report stays below its limit.
func TestLongServerSecondsAreSmall(t *testing.T) {
	r := served(takt.MaxIntervals - 1)
	for i := range r.ServerSeconds { // figures that do not compress
		for name := range r.ServerSeconds[i].Figures {
			r.ServerSeconds[i].Figures[name] *= 1 + float64(i*i%1009)/1009
		}
	}
	if size := len(pageOf(t, r)); size > 500_000 {
		t.Error(size, "bytes")
	}
}

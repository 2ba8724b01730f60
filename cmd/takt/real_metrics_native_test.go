//go:build real

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/metricstest"
	"github.com/taktload/takt/pkg/takt"
)

// TestRealPrometheus: PromQL's percentiles of native histograms are those of the report, and so are, less
// exactly, those of the buckets of a scrape. Every query of the dashboard has an answer.
func TestRealPrometheus(t *testing.T) {
	p := receiverOf(t, "TAKT_PROMETHEUS")
	export := "remote-write=" + p.at
	host, port, _ := strings.Cut(strings.TrimPrefix(p.at, "http://"), ":")
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	pull := net.JoinHostPort(host, strconv.Itoa(number+1)) // which Prometheus scrapes
	r := exporting(t, target.Options{ErrorRate: 0.05}, export, "openmetrics="+pull)
	ended := time.Now()

	for outcome, want := range map[string]uint64{"ok": r.Counts.OK, "failed": r.Counts.Failed, "dropped": 0, "unfinished": r.Counts.Unfinished} {
		if got := p.value(t, fmt.Sprintf(`takt_operations_total{run="%s", outcome="%s", job=""}`, r.ID, outcome), ended); got != float64(want) {
			t.Errorf("%s: Prometheus has %v, the report %d", outcome, got, want)
		}
	}
	if n := p.value(t, fmt.Sprintf(`histogram_count(takt_response_seconds{run="%s"})`, r.ID), ended); n != float64(r.Latency[takt.LatencyResponse].Count) {
		t.Errorf("the native histogram has %v values, the report %d", n, r.Latency[takt.LatencyResponse].Count)
	}
	scraped := p.scraped(t, r)
	percentiles(r, func(q, want float64) {
		got := p.value(t, fmt.Sprintf(`histogram_quantile(%v, takt_response_seconds{run="%s"})`, q, r.ID), ended)
		t.Logf("quantile %v: report %.6f s, native histogram %.6f s", q, want, got)
		if ratio := got / want; ratio > bucket || ratio < 1/bucket {
			t.Errorf("quantile %v: Prometheus computes %v s, the report has %v s", q, got, want)
		}
		// The newest scrape is up to a second before the end, and a bucket is as wide as a factor of 2.5.
		got = p.value(t, fmt.Sprintf(`histogram_quantile(%v, takt_response_seconds_bucket{run="%s"})`, q, r.ID), scraped)
		t.Logf("quantile %v: buckets of a scrape %.6f s", q, got)
		if ratio := got / want; q < 0.999 && (ratio > 2.5 || ratio < 1/2.5) {
			t.Errorf("quantile %v: Prometheus computes %v s of a scrape's buckets, the report has %v s", q, got, want)
		}
	})
	t.Run("documented join", func(t *testing.T) {
		// The run is scraped and sent, so it has two series of takt_run_info.
		p.value(t, strings.NewReplacer("takt_response_seconds_bucket", fmt.Sprintf(`takt_response_seconds_bucket{run="%s"}`, r.ID), "[1m]", "[4s]").Replace(documented(t, "(takt_run_info)))")), scraped)
	})
	t.Run("dashboard", func(t *testing.T) { p.dashboard(t, r, scraped, ended) })
	t.Run("STOP", func(t *testing.T) { interrupted(t, p, export, "STOP") })
	t.Run("KILL", func(t *testing.T) { interrupted(t, p, export, "KILL") })
}

// documented is the query of docs/metrics.md that ends with these words.
func documented(t *testing.T, words string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "```") {
		if query, ok := strings.CutPrefix(strings.TrimSpace(block), "text\n"); ok && strings.HasSuffix(query, words) {
			return query
		}
	}
	t.Fatalf("docs/metrics.md has no query that ends with %q", words)
	return ""
}

// sample is a value of a series.
type sample struct {
	Metric map[string]string
	Value  [2]any // time and text
}

func (r receiver) promQL(t *testing.T, expr string, at time.Time) []sample {
	t.Helper()
	var answer struct {
		Data struct{ Result []sample }
	}
	fetched(t, &answer, r.at+"/api/v1/query", "query", expr, "time", strconv.FormatFloat(float64(at.UnixMilli())/1e3, 'f', 3, 64))
	return answer.Data.Result
}

// value is that of the only series.
func (r receiver) value(t *testing.T, expr string, at time.Time) float64 {
	t.Helper()
	list := r.promQL(t, expr, at)
	if len(list) != 1 {
		t.Errorf("%s has %d series: %v", expr, len(list), list)
		return math.NaN()
	}
	v, err := strconv.ParseFloat(list[0].Value[1].(string), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// scraped is the instant of the newest scrape of the run.
func (r receiver) scraped(t *testing.T, run *takt.Report) time.Time {
	t.Helper()
	expr := fmt.Sprintf(`max_over_time(timestamp(takt_response_seconds_count{run="%s"})[5m:100ms])`, run.ID)
	return time.UnixMilli(int64(r.value(t, expr, time.Now()) * 1e3))
}

// dashboard sends the queries of docs/grafana. takt's gauges end with the run, so queries are asked for the
// time of the newest scrape, or for the end.
func (r receiver) dashboard(t *testing.T, run *takt.Report, times ...time.Time) {
	var list []string
	metricstest.Objects(t, "../../docs/grafana/prometheus.json", func(o map[string]any) {
		if expr, ok := o["expr"].(string); ok {
			list = append(list, strings.NewReplacer("$run", run.ID, "$window", "4s").Replace(expr))
		}
	})
	if len(list) < 20 {
		t.Fatalf("the dashboard has only the queries %v", list)
	}
	for _, expr := range list {
		answered := slices.ContainsFunc(times, func(at time.Time) bool { return len(r.promQL(t, expr, at)) > 0 })
		if !answered && !strings.Contains(expr, "takt_unread_messages") { // of consumers
			t.Errorf("no answer to %s", expr)
		}
	}
}

// TestRealCollector: the percentiles of the histograms in the collector's file are those of the report.
func TestRealCollector(t *testing.T) {
	c := receiverOf(t, "TAKT_COLLECTOR")
	export := "otlp=" + c.at
	r := exporting(t, target.Options{}, export)
	h := c.histogram(t, r.ID)
	if want := r.Latency[takt.LatencyResponse].Count; uint64(h.Count) != want {
		t.Errorf("the collector has %d values, the report %d", h.Count, want)
	}
	percentiles(r, func(q, want float64) {
		rank, below, i := uint64(math.Ceil(q*float64(h.Count))), uint64(0), -1
		for below < rank {
			i++
			below += uint64(h.Positive.BucketCounts[i])
		}
		base := math.Exp2(math.Exp2(-float64(h.Scale)))
		from := math.Pow(base, float64(h.Positive.Offset+i))
		t.Logf("quantile %v: report %.6f s, bucket (%.6f s, %.6f s]", q, want, from, from*base)
		if want <= from/1.001 || want > from*base*1.001 {
			t.Errorf("quantile %v: the collector has it in (%v s, %v s], the report has %v s", q, from, from*base, want)
		}
	})
	t.Run("STOP", func(t *testing.T) { interrupted(t, c, export, "STOP") })
	t.Run("KILL", func(t *testing.T) { interrupted(t, c, export, "KILL") })
}

// count is an integer of 64 bits, which JSON of OTLP has as text.
type count uint64

func (c *count) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(text), `"`), 10, 64)
	*c = count(n)
	return err
}

// exponential is a data point of a histogram.
type exponential struct {
	Count    count
	Scale    int
	Positive struct {
		Offset       int
		BucketCounts []count
	}
}

// histogram is the newest one of the response time of a run, when the end of the run has arrived.
func (r receiver) histogram(t *testing.T, run string) exponential {
	t.Helper()
	for range 100 { // the collector writes later than it reads
		if h, ok := newestHistogram(t, filepath.Join(r.folder, "metrics.json"), run); ok {
			return h
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the collector has not written the end of the run")
	return exponential{}
}

func newestHistogram(t *testing.T, path, run string) (newest exponential, over bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var request struct {
			ResourceMetrics []struct {
				ScopeMetrics []struct {
					Metrics []struct {
						Name                 string
						ExponentialHistogram struct{ DataPoints []exponential }
					}
				}
			}
		}
		if !strings.HasSuffix(line, "\n") {
			continue // half written
		}
		if err := json.Unmarshal([]byte(line), &request); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if !strings.Contains(line, run) {
			continue
		}
		for _, m := range request.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			switch m.Name {
			case "takt.response":
				newest = m.ExponentialHistogram.DataPoints[0]
			case "takt.valid":
				over = true
			}
		}
	}
	return newest, over
}

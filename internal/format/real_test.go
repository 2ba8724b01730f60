//go:build real

package format_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file hold takt's .hlog against the reference implementation
// of HdrHistogram, in Java. scripts/test-real fetches it and runs them.

// javaLine is one line that HlogCheck.java prints.
type javaLine struct {
	what, tag                 string
	start, length             int64 // ms
	count                     uint64
	p50, p90, p99, p99_9, max time.Duration
}

// lineOf is what takt's own histogram says; start and length are left open.
func lineOf(what, tag string, h *hist.Histogram) javaLine {
	return javaLine{what: what, tag: tag, count: h.Count(),
		p50: h.Quantile(0.5), p90: h.Quantile(0.9), p99: h.Quantile(0.99), p99_9: h.Quantile(0.999), max: h.Max()}
}

// readWithJava is what the Java reader makes of a log.
func readWithJava(t *testing.T, log string) []javaLine {
	t.Helper()
	jar := os.Getenv("TAKT_HDRHISTOGRAM_JAR")
	if jar == "" {
		t.Fatal("TAKT_HDRHISTOGRAM_JAR is not set; run scripts/test-real")
	}
	classes := t.TempDir()
	output(t, "javac", "-d", classes, "-cp", jar, "testdata/HlogCheck.java")
	out := output(t, "java", "-cp", classes+string(os.PathListSeparator)+jar, "HlogCheck", log)
	var lines []javaLine
	for text := range strings.Lines(out) {
		var l javaLine
		if _, err := fmt.Sscan(text, &l.what, &l.tag, &l.start, &l.length, &l.count,
			(*int64)(&l.p50), (*int64)(&l.p90), (*int64)(&l.p99), (*int64)(&l.p99_9), (*int64)(&l.max)); err != nil {
			t.Fatalf("HlogCheck printed %q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	c := exec.Command(name, args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	return string(out)
}

// compare wants the same lines; times may differ by the 1 ms that the reader
// loses when it turns seconds into a whole number of them.
func compare(t *testing.T, got, want []javaLine) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("Java reads %d lines, want %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if off(g.start, w.start) || off(g.length, w.length) {
			t.Errorf("line %d, %s %s: from %d for %d ms, want from %d for %d ms", i, g.what, g.tag, g.start, g.length, w.start, w.length)
		}
		g.start, g.length = w.start, w.length
		if g != w {
			t.Errorf("line %d: Java reads\n%+v, takt has\n%+v", i, g, w)
		}
	}
}

func off(a, b int64) bool { return a-b > 1 || b-a > 1 }

func TestRealJavaReadsRun(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "run.hlog")
	report := loadTarget(t, log, filepath.Join(dir, "run.json"))
	if report.Counts.Scheduled != 1500 || report.Counts.OK == 0 || report.Counts.Failed == 0 {
		t.Fatalf("counts %+v, want 1500 scheduled, good and failed ones", report.Counts)
	}
	got := readWithJava(t, log)
	// The head of the log is written before the run, so its start is a little
	// before the report's.
	began := got[0].start
	if early := report.StartedAt.UnixMilli() - began; early < -1 || early > 1000 {
		t.Errorf("the log starts %d ms before the run", early)
	}
	compare(t, got, linesOf(t, report, began))
}

// loadTarget runs takt http against a target that fails now and then.
func loadTarget(t *testing.T, log, report string) *takt.Report {
	t.Helper()
	s, stop, err := targettest.Start(target.Options{
		Service: "exp(2ms)", ErrorRate: 0.05, ResetRate: 0.01, Freeze: "100ms/1s", Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := cli.Main(core.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Getenv: func(string) string { return "" }, Interrupt: t.Context(),
	}, []string{"http", "--rate", "500/s", "--duration", "3s", "--no-store", "--progress", "none", "-o", "hlog=" + log, "-o", "json=" + report, s.URL()})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var r takt.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// linesOf are the lines that Java should print of a report's run: those of the
// intervals from their own histograms, those of the whole from the run's.
func linesOf(t *testing.T, r *takt.Report, began int64) []javaLine {
	t.Helper()
	var lines []javaLine
	add := func(what, tag, hdr string, fromS, toS float64) {
		h, err := hist.Decode(hdr)
		if err != nil {
			t.Fatal(err)
		}
		l := lineOf(what, tag, h)
		l.start, l.length = began+int64(fromS*1e3), int64((toS-fromS)*1e3)
		lines = append(lines, l)
	}
	from := 0.0
	for _, iv := range r.Intervals {
		add("interval", takt.LatencyResponse, iv.HDR, from, iv.T)
		add("interval", takt.LatencyService, iv.ServiceHDR, from, iv.T)
		from = iv.T
	}
	for _, tag := range []string{takt.LatencyResponse, takt.LatencyService} {
		add("all", tag, r.Latency[tag].HDR, 0, from)
	}
	return lines
}

// TestRealJavaPercentiles compares the definition of a percentile where a slip
// of one rank shows: at every small number of values, and where 99.9 % is whole.
func TestRealJavaPercentiles(t *testing.T) {
	began := time.UnixMilli(1_700_000_000_000)
	var log bytes.Buffer
	w, err := hist.NewLogWriter(&log, began)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	h, all := hist.New(), hist.New()
	var want []javaLine
	const ms = time.Millisecond
	const most = 2010
	for n := range most + 1 {
		if n > 200 && n%1000 > 10 {
			continue // encoding is slow under -race
		}
		h.Reset()
		for range n {
			h.Record(time.Duration(random.ExpFloat64() * float64(5*ms)))
		}
		all.Merge(h)
		l := lineOf("interval", "x", h)
		l.start, l.length = began.UnixMilli()+int64(n), 1
		want = append(want, l)
		if err := w.Write("x", time.Duration(n)*ms, time.Duration(n+1)*ms, h); err != nil {
			t.Fatal(err)
		}
	}
	l := lineOf("all", "x", all)
	l.start, l.length = began.UnixMilli(), most+1
	path := filepath.Join(t.TempDir(), "counts.hlog")
	if err := os.WriteFile(path, log.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	compare(t, readWithJava(t, path), append(want, l))
}

package report_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// watched is a run of so many seconds with a value of every figure; second 2 is unknown.
func watched(seconds int, value float64) *takt.Report {
	r := &takt.Report{IntervalS: 1, Latency: map[string]takt.Latency{takt.LatencyResponse: {Count: 1}}}
	for i := range seconds {
		r.Intervals = append(r.Intervals, takt.Interval{T: float64(i + 1), OK: 1, ResponseP99: 1000 * float64(i+1)})
		s := takt.ServerSecond{From: float64(i) - 0.25, T: float64(i) + 0.75, Figures: map[string]float64{}}
		for _, f := range timeline.Figures() {
			s.Figures[f.Name] = value * float64(i+1)
		}
		if i == 2 {
			s.Figures = map[string]float64{}
		}
		r.ServerSeconds = append(r.ServerSeconds, s)
	}
	return r
}

func serverText(t *testing.T, r *takt.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Server(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The curves are below one another, second by second, and an unknown second is empty.
func TestServerCurves(t *testing.T) {
	got := serverText(t, watched(4, 0.5))
	for _, want := range []string{
		"the server over 4s, 1s a column\n", "  response p99  ▃▅▇█  max 4ms\n", "  acked         ▃▅ █  max 2/s\n", "  CPU           ▃▅ █  max 200 %\n",
		"  queued        ▃▅ █  max 2\n", "  log errors    ▃▅ █  max 2/s\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := serverText(t, watched(4, 0)); strings.Contains(got, "dropped") || strings.Contains(got, "log ") || !strings.Contains(got, "acked") {
		t.Errorf("what is never bad is shown:\n%s", got)
	}
	for name, r := range map[string]*takt.Report{"not watched": {Intervals: watched(4, 1).Intervals}, "one interval": watched(1, 1), "nothing": {}} {
		if got := serverText(t, r); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// No line is longer than a terminal, whatever the figures, also those of a report from elsewhere.
func TestServerCurvesFit(t *testing.T) {
	for _, seconds := range []int{2, 40, 41, 1000} {
		for _, value := range []float64{0, 1e-9, 0.123456, 1, 123456.789, 1e12, math.NaN(), math.Inf(1), -1} {
			got := serverText(t, watched(seconds, value))
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && value < 1e12 {
					t.Errorf("%d seconds of %v: %d columns: %s", seconds, value, n, line)
				}
			}
		}
	}
}

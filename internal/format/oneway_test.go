package format_test

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/pkg/takt"
)

// Where nobody answers, the report is about the send time, and a row has no response time.
func TestOneWay(t *testing.T) {
	r := &takt.Report{
		Kind: "kafka", Verdict: takt.Valid, Counts: takt.Counts{Scheduled: 20, Sent: 20, OK: 20}, Rate: takt.Rate{Achieved: 20}, DurationS: 1,
		Latency: map[string]takt.Latency{
			takt.LatencySend:        {Count: 20, P50: 7000, P99: 9000, Max: 9000},
			takt.LatencySendDelay:   {Count: 20, P50: 1, P99: 2, Max: 3},
			takt.LatencyScheduleLag: {Count: 20, P50: 1, P99: 2, Max: 3},
		},
	}
	text := written(t, format.Text(false), r, nil)
	for _, want := range []string{"closed loop, 20/s achieved", "latency, ms            send", "send delay"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text report has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "response") {
		t.Errorf("the text report has a response time:\n%s", text)
	}
	samples, _, err := format.Parse("samples")
	if err != nil {
		t.Fatal(err)
	}
	rows := written(t, samples, r, []takt.Sample{{Due: 1, Sent: 3, Done: takt.NoAnswer}})
	if !strings.HasSuffix(rows, "\n,,,,,,0,0.000000001,0.000000002,ok\n") {
		t.Errorf("rows:\n%s", rows)
	}
}

// written is what a format makes of a report and its rows.
func written(t *testing.T, f format.Format, r *takt.Report, rows []takt.Sample) string {
	t.Helper()
	var b strings.Builder
	w, err := f.Open(&b, *r)
	if err == nil && rows != nil {
		err = w.(format.RowWriter).Samples(nil, rows)
	}
	if err == nil {
		err = w.Close(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

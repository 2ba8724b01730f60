package format_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

func table(t *testing.T, values []time.Duration) string {
	t.Helper()
	h := hist.New()
	for _, v := range values {
		h.Record(v)
	}
	return replay(t, "quantiles", &takt.Report{Latency: map[string]takt.Latency{"response": h.Summary()}})
}

const quantilesHead = "Quantile    | Count     | Value \n------------+-----------+-------------\n"

func TestQuantiles(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1)) // below 2048 every value has a bucket of its own
	}
	for _, c := range []struct {
		name   string
		values []time.Duration
		want   string
	}{
		{"nothing", nil, ""},
		{"one", []time.Duration{1000}, "" +
			"0.000       | 1         | 1µs\n" +
			"100.000     | 1         | 1µs\n"},
		{"all alike", []time.Duration{7, 7, 7}, "" +
			"0.000       | 3         | 7ns\n" +
			"100.000     | 3         | 7ns\n"},
		{"hundred", hundred, "" +
			"0.000       | 1         | 1ns\n" +
			"50.000      | 50        | 50ns\n" +
			"75.000      | 75        | 75ns\n" +
			"87.500      | 88        | 88ns\n" +
			"93.750      | 94        | 94ns\n" +
			"96.875      | 97        | 97ns\n" +
			"98.438      | 99        | 99ns\n" +
			"99.219      | 100       | 100ns\n" +
			"100.000     | 100       | 100ns\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := table(t, c.values); got != quantilesHead+c.want {
				t.Errorf("got\n%s\nwant\n%s", got, quantilesHead+c.want)
			}
		})
	}
}

// What is less than 100 % never looks like it.
func TestQuantilesNearlyAll(t *testing.T) {
	values := append(slices.Repeat([]time.Duration{time.Microsecond}, 1<<21), time.Millisecond)
	var percents []string
	for line := range strings.Lines(strings.TrimPrefix(table(t, values), quantilesHead)) {
		percents = append(percents, strings.Fields(line)[0])
	}
	want := []string{"99.997", "99.998", "99.999", "99.9996", "99.9998", "99.9999", "99.99995", "99.99998", "100.000"}
	if got := percents[max(0, len(percents)-len(want)):]; !slices.Equal(got, want) {
		t.Errorf("the last are %v, want %v", got, want)
	}
}

// For any values: the counts are those of the values up to the one that stands
// there, and hdrhistogram-go, which wrk3 prints, says the same.
func TestQuantilesLaw(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		h := hdrhistogram.New(int64(hist.Lowest), int64(hist.Highest), hist.Digits)
		var values []time.Duration
		for range 1 + rnd.IntN(5000) {
			d := time.Duration(1 + rnd.ExpFloat64()*1e6)
			values = append(values, d)
			_ = h.RecordValue(int64(d)) // within its range
		}
		want := quantilesHead
		for _, b := range h.CumulativeDistribution() {
			want += fmt.Sprintf("%-12.3f| %-10d| %v\n", b.Quantile, b.Count, time.Duration(b.ValueAt))
		}
		if got := table(t, values); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestQuantilesOfADamagedHistogram(t *testing.T) {
	r := &takt.Report{Latency: map[string]takt.Latency{"response": {Count: 1, HDR: "nonsense"}}}
	if _, err := format.Quantiles(r); err == nil {
		t.Error("a damaged histogram was swallowed")
	}
}

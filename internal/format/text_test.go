package format_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// shown is the text report of r with spaces made single.
func shown(t *testing.T, r *takt.Report) string {
	return strings.Join(strings.Fields(replay(t, "text", r)), " ")
}

func TestTextOfEqualLatencies(t *testing.T) {
	r := base()
	phase(r, takt.LatencyResponse, 7, func(int) time.Duration { return 50 * time.Microsecond })
	if got := shown(t, r); !strings.Contains(got, "response, µs count share ≤ 50.02 7 100.00 % ████") {
		t.Errorf("equal latencies are one bar:\n%s", replay(t, "text", r))
	}
}

func TestTextOfSlowAnswers(t *testing.T) {
	r := base()
	phase(r, takt.LatencyResponse, 100, func(i int) time.Duration { return time.Duration(i+1) * time.Second })
	if got := shown(t, r); !strings.Contains(got, "latency, s response count 100") {
		t.Errorf("not in seconds:\n%s", replay(t, "text", r))
	}
}

func TestTextBoundsErrors(t *testing.T) {
	r := failures()
	r.Errors = nil
	for i := range 12 {
		r.Errors = append(r.Errors, takt.ErrorClass{Class: fmt.Sprint("class-", i), Count: 3, Body: strings.Repeat("x", 500)})
	}
	got := shown(t, r)
	if !strings.Contains(got, "and 2 more kinds 6") || strings.Contains(got, strings.Repeat("x", 140)) {
		t.Errorf("errors are not bounded:\n%s", got)
	}
}

// What a target completes while it is loaded stands beside what it achieved with the drain.
func TestTextOfOverload(t *testing.T) {
	const told = "; 498/s completed while the schedule lasted, the rest in the drain"
	for name, c := range map[string]struct {
		achieved float64
		seconds  []uint64 // operations that ended in each
		want     bool
	}{
		"overloaded":           {800, []uint64{493, 503, 498, 498, 600}, true},
		"within the rate":      {500, []uint64{500, 500, 500, 499, 1}, false},
		"a few in the drain":   {2, []uint64{1, 2, 2, 1, 2}, false},
		"no interval is known": {800, nil, false},
	} {
		r := base()
		intended := c.achieved
		r.DurationS, r.WarmupS, r.Rate, r.Intervals = 4, 0, takt.Rate{Intended: &intended, Achieved: c.achieved}, nil
		for i, n := range c.seconds {
			r.Intervals = append(r.Intervals, takt.Interval{T: float64(i + 1), OK: n})
		}
		if got := shown(t, r); strings.Contains(got, told) != c.want || strings.Contains(got, "in the drain") != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

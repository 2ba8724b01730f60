package history

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The statistics agree with those of testdata/reference.py, which computes them by their definitions.
func TestReference(t *testing.T) {
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Scan []struct {
			Values, Scores []float64
			Distance       float64
			At             int
			Intervals      [][2]int
		}
		Exact []struct {
			Values []float64
			P      float64
		}
		Correlation []struct {
			Values []float64
			Rho    float64
		}
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if len(want.Scan) != 4 || len(want.Exact) != 2 || len(want.Correlation) != 3 {
		t.Fatalf("%d, %d and %d cases", len(want.Scan), len(want.Exact), len(want.Correlation))
	}
	for _, c := range want.Scan {
		points, list := scores(c.Values), seeded(len(c.Values))
		for i, v := range points {
			near(t, "a score", v, c.Scores[i])
		}
		if len(list) != len(c.Intervals) {
			t.Fatalf("%d intervals, want %d", len(list), len(c.Intervals))
		}
		for i, in := range list {
			if in.from != c.Intervals[i][0] || in.to != c.Intervals[i][1] {
				t.Errorf("interval %d is %v, want %v", i, in, c.Intervals[i])
			}
		}
		best := scan(points, list, make([]float64, len(points)+1))
		if near(t, "the distance", best.distance, c.Distance); best.at != c.At {
			t.Errorf("the best split of %d points is at %d, want %d", len(points), best.at, c.At)
		}
	}
	for _, c := range want.Exact {
		if p := drawn(c.Values); math.Abs(p-c.P) > 4*math.Sqrt(c.P*(1-c.P)/20_000) {
			t.Errorf("p is %.4f by draws, want %.4f by all orders", p, c.P)
		}
	}
	for _, c := range want.Correlation {
		near(t, "the correlation", correlationOf(normalScores(c.Values)), c.Rho)
	}
}

// drawn is the share of 20,000 orders whose best split is at least as far as that of the values.
func drawn(values []float64) float64 {
	points := scores(values)
	list, sums := seeded(len(points)), make([]float64, len(points)+1)
	own, s, n := scan(points, list, sums).distance, newShuffler(points, 0), 0
	for range 20_000 {
		if scan(s.draw(), list, sums).distance >= own*(1-1e-12) {
			n++
		}
	}
	return float64(n) / 20_000
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

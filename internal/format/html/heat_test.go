package html

import (
	"encoding/base64"
	"fmt"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// mapOf is the heat map of intervals that end at the given instants, with n operations of 10 ms in each,
// and its picture as a function that returns the level of a row at an instant.
func mapOf(t *testing.T, counts []uint64, ends ...float64) (heat, func(at float64) uint8) {
	t.Helper()
	r := &takt.Report{Latency: map[string]takt.Latency{takt.LatencyResponse: {Count: 1, Min: 1000, Max: 100_000}}}
	for _, end := range ends {
		r.Intervals = append(r.Intervals, takt.Interval{T: end})
	}
	m := newHeat(r)
	for i, end := range ends {
		h := hist.New()
		h.RecordN(10*time.Millisecond, counts[i%len(counts)])
		m.add(end, h)
	}
	text, err := m.picture()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.TrimPrefix(text, "data:image/png;base64,"))))
	if err != nil {
		t.Fatal(err)
	}
	return m, func(at float64) uint8 {
		x, highest := int(at/m.end()*heatWidth), uint8(0)
		for y := range heatRows {
			_, _, _, alpha := img.At(x, y).RGBA()
			highest = max(highest, uint8(alpha>>8))
		}
		return highest
	}
}

// The columns of the map are intervals, as wide as they are long.
func TestHeatColumns(t *testing.T) {
	m, level := mapOf(t, []uint64{100, 0, 100}, 1, 2, 2.5)
	if got := fmt.Sprint(m.edges); got != "[1 2 2.5]" {
		t.Errorf("edges %s", got)
	}
	if a, b, c, d := level(0.99), level(1.01), level(1.99), level(2.01); a == 0 || b != 0 || c != 0 || d == 0 {
		t.Errorf("levels %d %d %d %d beside the edges", a, b, c, d)
	}
	var ends []float64
	for i := range 2*heatColumns + 1 {
		ends = append(ends, float64(i+1))
	}
	m, _ = mapOf(t, []uint64{1}, ends...)
	var sum uint64
	for _, column := range m.counts {
		for _, n := range column {
			sum += n
		}
	}
	if len(m.edges) != 201 || m.edges[0] != 3 || m.edges[200] != 601 || sum != 601 {
		t.Errorf("%d columns from %v to %v with %d operations", len(m.edges), m.edges[0], m.edges[200], sum)
	}
}

// A lone operation is pale, and can be seen, beside columns with thousands.
func TestHeatLevels(t *testing.T) {
	_, level := mapOf(t, []uint64{100_000, 1, 300}, 1, 2, 3)
	if a, b, c := level(0.5), level(1.5), level(2.5); a != 255 || b < faintest || b > 32 || c <= 2*b || c >= a {
		t.Errorf("levels %d, %d and %d of 100 000, 1 and 300 operations", a, b, c)
	}
}

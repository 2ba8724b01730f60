package format

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

// ProgressLine is the progress line printed once a second, without a line break.
// intervalSeconds is the length of the interval. Zero failures and drops are omitted, as are
// figures that do not exist (operations in flight for a consumer).
func ProgressLine(iv takt.Interval, intervalSeconds float64) string {
	cells := []string{page.Right(page.Span(roundTo(iv.T, 0.1)), 6)}
	if iv.Warmup {
		cells = append(cells, "warm-up")
	}
	if iv.Scheduled > 0 || iv.OK == 0 {
		cells = append(cells, perSecond(iv.Scheduled, intervalSeconds)+" due")
	}
	cells = append(cells, perSecond(iv.OK, intervalSeconds)+" ok")
	cells = append(cells, troubles(iv)...)
	if iv.InFlightMax > 0 {
		cells = append(cells, fmt.Sprintf("in flight ≤ %d", iv.InFlightMax))
	}
	return strings.Join(append(cells, latencyCells(iv)...), "  ")
}

func troubles(iv takt.Interval) (cells []string) {
	if iv.Failed > 0 {
		cells = append(cells, page.Count(iv.Failed)+" failed")
	}
	if iv.Dropped > 0 {
		cells = append(cells, page.Count(iv.Dropped)+" dropped")
	}
	return cells
}

// latencyCells is empty if no operation ended in the interval: a zero would look like a fast
// answer.
func latencyCells(iv takt.Interval) []string {
	if iv.ResponseMax == 0 {
		return nil
	}
	return []string{
		"p50 " + figure.Micros(iv.ResponseP50),
		"p99 " + figure.Micros(iv.ResponseP99),
		"max " + figure.Micros(iv.ResponseMax),
		"lag p99 " + figure.Micros(iv.ScheduleLagP99),
	}
}

func perSecond(n uint64, s float64) string {
	if s <= 0 {
		s = 1
	}
	return page.Rate(roundTo(float64(n)/s, 0.1))
}

// roundTo rounds v to a multiple of step.
func roundTo(v, step float64) float64 {
	return float64(int64(v/step+0.5)) * step
}

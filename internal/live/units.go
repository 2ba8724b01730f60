package live

import (
	"fmt"
	"time"

	"github.com/taktload/takt/internal/format/page"
)

// si writes v with three significant digits and at most five characters: 940, 20k, 1.23M.
func si(v float64) string {
	for _, unit := range []string{"", "k", "M", "G"} {
		if v < 999.5 {
			return page.Short(v) + unit
		}
		v /= 1000
	}
	return page.Short(v) + "T"
}

// span writes a time with its two largest units: 12s, 1m30s, 12h34m.
func span(d time.Duration) string {
	s := int64(max(0, d).Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 1000*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dd", s/86400)
	}
}

// shortestRate is the shortest window, in seconds, whose rate means anything: the jitter of one
// operation changes the rate of a shorter one by many percent.
const shortestRate = 0.1

// rate is a rate of the window, after the schedule of the whole interval; known: false if that is too
// short.
func (c *column) rate(n uint64) (v float64, known bool) {
	seconds := c.window
	if seconds <= 0 {
		seconds = c.length
	}
	if seconds < shortestRate {
		return 0, false
	}
	return float64(n) / seconds, true
}

// perSecond is a rate; a second without a length counts as one.
func perSecond(n uint64, seconds float64) float64 {
	if seconds <= 0 {
		seconds = 1
	}
	return float64(n) / seconds
}

package fleet

import (
	"math"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// moved is how far a member's clock may move during a run: so much earlier or later than planned
// its last operations were due.
const moved = 5 * time.Millisecond

// annotate adds to the parts of the merged report what is known of the clocks.
// The lock is held.
func (g *Gatherer) annotate(whole *takt.Report) {
	parts, _ := whole.Extra["parts"].([]any)
	by := map[string]map[string]any{}
	for _, one := range parts {
		if part, ok := one.(map[string]any); ok {
			name, _ := part["shard"].(string)
			by[name] = part
		}
	}
	var bound time.Duration
	for _, p := range g.inOrder() {
		bound = max(bound, p.best.Bound)
		part := by[p.name()]
		if part == nil {
			continue
		}
		part["clock_ahead_us"] = micros(p.best.Ahead)
		part["clock_bound_us"] = micros(p.best.Bound)
		if rate, uncertain := drift(p.first, p.last); math.Abs(rate) > uncertain {
			part["clock_drift_ppm"] = math.Round(rate*1e7) / 10
		}
		if by := p.last.Ahead - p.first.Ahead; by.Abs() > moved+p.first.Bound+p.last.Bound {
			whole.Warn(warn.ClockDrift, "the clock of %s moved by %s against the gatherer's, so its last operations were due that much too early or too late; %s",
				p.called(), figure.Time("moved", by.Abs()), takt.Advice("let NTP or PTP keep the clocks"))
		}
	}
	whole.Extra["clock_bound_us"] = micros(bound)
}

func micros(d time.Duration) float64 { return float64(d.Round(100*time.Nanosecond)) / 1e3 }

package calibratecmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/takt"
)

// write writes the calibration for people. path is where it was saved; "": nowhere.
func (c *Calibration) write(w io.Writer, path string) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("host", "%v/%v, %v cores, %v", c.Host["os"], c.Host["arch"], c.Host["cores"], c.Host["cpu"])
	s := c.Sleep
	line("sleep", "%d at %d/s woke late by p50 %s, p99 %s, max %s; %s of CPU each", s.WakeUps, sleepRate, figure.Micros(s.P50), figure.Micros(s.P99), figure.Micros(s.Max), figure.Micros(s.CPU))
	line("spin", "froze for up to %s in %.1f s, %d times for more than %v; saw %d/s late by p99 %s", figure.Micros(c.Spin.WorstGap), c.Spin.DurationS, c.Spin.LongGaps, pace.LongGap, pace.StillRate, figure.Micros(c.Spin.P99))
	b.WriteString("\n")
	c.writeLoads(&b)
	b.WriteString("\n")
	var floors []string
	for _, l := range c.Loads {
		if l.RatePerS == floorRate {
			floors = append(floors, fmt.Sprintf("%s with the %s engine", figure.Micros(l.ResponseP99), l.Engine))
		}
	}
	line("noise floor", "%s: response p99 at %d/s", strings.Join(floors, ", "), floorRate)
	if path != "" {
		line("kept", "%s, for reports of this host until %s", path, c.At.Add(calibrationAge).Format(time.DateOnly))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Calibration) writeLoads(b *strings.Builder) {
	fmt.Fprintf(b, "%-18s%10s%30s\n", "null server, µs", "response", "schedule lag")
	fmt.Fprintf(b, "%18s%10s%10s%10s%10s%10s\n", "", "p50", "p99", "p99.9", "p50", "p99")
	for _, l := range c.Loads {
		name := fmt.Sprintf("%.0f/s, %s", l.RatePerS, l.Engine)
		fmt.Fprintf(b, "%-18s%10.1f%10.1f%10.1f%10.1f%10.1f\n", name, l.ResponseP50, l.ResponseP99, l.ResponseP99_9, l.LagP50, l.LagP99)
		if l.Verdict == takt.Invalid {
			b.WriteString("  INVALID: takt was late; run it again when nothing else uses the machine\n")
		}
	}
}

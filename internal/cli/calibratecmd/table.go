package calibratecmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/takt"
)

// micros formats a time in µs for people.
func micros(us float64) string {
	d := time.Duration(us * 1e3)
	switch {
	case d < 10*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

// write writes the calibration for people. path is where it was saved; "": nowhere.
func (c *Calibration) write(w io.Writer, path string) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("host", "%v/%v, %v cores, %v", c.Host["os"], c.Host["arch"], c.Host["cores"], c.Host["cpu"])
	s := c.Sleep
	line("sleep", "%d at %d/s woke late by p50 %s, p99 %s, max %s; %s of CPU each", s.WakeUps, sleepRate, micros(s.P50), micros(s.P99), micros(s.Max), micros(s.CPU))
	line("spin", "froze for up to %s in %.1f s, %d times for more than %v; saw %d/s late by p99 %s", micros(c.Spin.WorstGap), c.Spin.DurationS, c.Spin.LongGaps, pace.LongGap, pace.StillRate, micros(c.Spin.P99))
	b.WriteString("\n")
	c.writeLoads(&b)
	b.WriteString("\n")
	var floors []string
	for _, l := range c.Loads {
		if l.RatePerS == floorRate {
			floors = append(floors, fmt.Sprintf("%s with the %s engine", micros(l.ResponseP99), l.Engine))
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

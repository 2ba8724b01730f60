package answer

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/capacity"
)

// The knee is in the picture if it is known, between the tested rates next to it.
func TestKnee(t *testing.T) {
	at, low, high := 500.0, 400.0, 600.0
	for _, known := range []bool{true, false} {
		d := drawing{scale: scale{rate: 1000, time: 1000}}
		c := capacity.Answer{KneeRange: capacity.Range{Low: &low, High: &high}}
		if known {
			c.Knee = &at
		}
		d.knee(c)
		if got := d.b.String(); strings.Contains(got, ">knee<") != known || strings.Contains(got, "<rect") != known {
			t.Errorf("known %v: %s", known, got)
		}
	}
}

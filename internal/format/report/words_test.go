package report

import (
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

func TestRatesSaySo(t *testing.T) {
	response := map[string]takt.Latency{takt.LatencyResponse: {}}
	for want, r := range map[string]*takt.Report{
		"closed loop, 5/s achieved": {Latency: response, Rate: takt.Rate{Achieved: 5}},
		"5/s received":              {Counts: takt.Counts{OK: 1}, Rate: takt.Rate{Achieved: 5}},
		"0/s achieved":              {},
	} {
		if got := rates(r); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

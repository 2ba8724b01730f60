package main

import (
	"os"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/drivertest"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// The driver passes takt's suite against the real server.
func TestRealMQTT(t *testing.T) {
	where := server(t, "TAKT_MQTT")
	opened := func() (*takt.Driver, error) { return open([]string{where}, 100, 1) }
	drivertest.Check(t, drivertest.Expect{Open: func(t *testing.T, target drivertest.Target) *takt.Driver {
		if target != drivertest.Good {
			return nil
		}
		d, err := opened()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}})
	rates(t, "MQTT", opened)
}

// rates makes runs at 20,000/s with 1 and with 20 workers, and prints a row of docs/library.md for each.
func rates(t *testing.T, name string, open func() (*takt.Driver, error)) {
	t.Helper()
	for _, workers := range []int{1, 20} {
		d, err := open()
		if err != nil {
			t.Fatal(err)
		}
		s := schedule.Constant(20_000, 3*time.Second)
		r, err := load.Run(t.Context(), load.Plan{Driver: d, Schedule: s, Workers: workers, Drain: time.Second, Tune: true})
		if err != nil {
			t.Fatal(err)
		}
		ms := func(name string) float64 { return r.Latency[name].P99 / 1e3 }
		t.Logf("| %s | %d | %.0f/s | %.3g ms | %.3g ms | %.3g ms | %s |", name, workers, r.Rate.Achieved, ms("service"), ms("response"), ms("schedule_lag"), r.Verdict)
		if r.Counts.OK == 0 || r.Counts.Failed > r.Counts.OK/100 { // a busy machine loses packets
			t.Errorf("%+v %+v", r.Counts, r.Errors)
		}
	}
}

// server is the address of the server that scripts/test-real starts.
func server(t *testing.T, variable string) string {
	where := os.Getenv(variable)
	if where == "" {
		t.Skipf("%s is not set; make test-wide starts the server", variable)
	}
	return where
}

// Package exampletest tests the drivers of pkg/bench/examples, which are modules of their own.
package exampletest

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/drivertest"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// Example is a driver under test.
type Example struct {
	Name  string
	Open  func(args []string) (*takt.Driver, error) // as bench.Main calls it
	Where string                                    // the argument that names the server
	Down  string                                    // an address where nobody listens; "": the test has none
	Bytes bool                                      // the driver reports the bytes on the wire
}

// Test checks the driver as pkg/drivertest does, and loads the server.
func (e Example) Test(t *testing.T) {
	t.Helper()
	drivertest.Check(t, drivertest.Expect{Bytes: e.Bytes, Open: func(t *testing.T, target drivertest.Target) *takt.Driver {
		where := map[drivertest.Target]string{drivertest.Good: e.Where, drivertest.Down: e.Down}[target]
		if where == "" {
			return nil
		}
		return e.open(t, where)
	}})
	for _, workers := range []int{1, 20} {
		e.load(t, workers)
	}
}

func (e Example) open(t *testing.T, where string) *takt.Driver {
	t.Helper()
	d, err := e.Open([]string{where})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// load makes a run at 20,000/s and prints its figures. What counts is that operations succeed: a busy
// machine, or one worker, may not reach the rate.
func (e Example) load(t *testing.T, workers int) {
	t.Helper()
	r, err := load.Run(t.Context(), load.Plan{
		Driver: e.open(t, e.Where), Schedule: schedule.Constant(20_000, 3*time.Second), Workers: workers, Drain: time.Second, Tune: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	p99 := func(name string) float64 { return r.Latency[name].P99 / 1e3 }
	t.Logf("%s, %d workers: %.0f/s, p99 in ms: service %.3g, response %.3g, lag %.3g; %s",
		e.Name, workers, r.Rate.Achieved, p99(takt.LatencyService), p99(takt.LatencyResponse), p99(takt.LatencyScheduleLag), r.Verdict)
	if r.Counts.OK == 0 || r.Counts.Failed > r.Counts.OK/100 { // a busy machine loses packets
		t.Errorf("%+v %+v", r.Counts, r.Errors)
	}
}

// Server is the address of the server that scripts/test-real starts, and names in the variable.
func Server(t *testing.T, variable string) string {
	t.Helper()
	where := os.Getenv(variable)
	if where == "" {
		t.Skipf("%s is not set; make test-wide starts the server", variable)
	}
	return where
}

// Nobody is an address where nobody listens.
func Nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Package exampletest tests the drivers of pkg/bench/examples, which are modules of their own.
package exampletest

import (
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/drivertest"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// Example is a driver under test.
type Example struct {
	Name    string
	Open    func(args []string) (*takt.Driver, error) // as bench.Main calls it
	Where   string                                    // the argument that names the server
	UDP     bool                                      // a relay over TCP cannot be before the server
	Timeout time.Duration                             // of the driver; 0: it has none
	Bytes   bool                                      // the driver reports the bytes on the wire
}

// Test checks the driver as pkg/drivertest does, and loads the server.
func (e Example) Test(t *testing.T) {
	t.Helper()
	expect := drivertest.Expect{Bytes: e.Bytes, Timeout: e.Timeout}
	if e.UDP {
		expect.Open = func(t *testing.T, target drivertest.Target) *takt.Driver {
			if target != drivertest.Good {
				return nil
			}
			return e.open(t, e.Where)
		}
	} else {
		expect.Server = e.host()
		expect.At = func(t *testing.T, addr string) *takt.Driver {
			return e.open(t, strings.Replace(e.Where, e.host(), addr, 1))
		}
	}
	drivertest.Check(t, expect)
	for _, workers := range []int{1, 20} {
		e.load(t, workers)
	}
}

// host is the host and the port in Where, which may be a URL.
func (e Example) host() string {
	if u, err := url.Parse(e.Where); err == nil && u.Host != "" {
		return u.Host
	}
	return e.Where
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

package http_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/targettest"
)

// Over HTTP/2, with and without TLS, takt counts what the target did: answers, errors, resets and
// silence, also when the target refuses streams and ends connections.
func TestH2CountsOfTheTarget(t *testing.T) {
	for _, tls := range []bool{false, true} {
		for _, load := range h2Loads {
			t.Run(fmt.Sprintf("%v TLS %v", load, tls), func(t *testing.T) {
				t.Parallel()
				drivertest.Slowly(time.Second, func(timeout time.Duration) bool {
					s, stop, err := targettest.Start(target.Options{
						H2: true, H2Streams: 6, TLS: tls, Service: "exp(500us)", Servers: 8, Seed: 2, ErrorRate: 0.2, ResetRate: 0.1, HalfOpenRate: 0.01, H2Requests: 150, Size: new(5000),
					})
					if err != nil {
						t.Fatal(err)
					}
					o := http.New()
					o.HTTP2, o.HTTP2Connections, o.HTTP2Streams, o.TLS.Insecure = true, load.conns, load.streams, true
					o.Timeout = timeout
					const requests = 1000
					r := run(t, drivertest.Plan(t, "http", o, func(e *engine.Options) {
						e.Requests, e.MaxInFlight = requests, load.conns*load.streams
						e.Drain = engine.DrainOf(2 * drivertest.Longest)
						if load.rate != "" {
							e.Rate = engine.MustRate(load.rate)
						}
					}, s.URL()))
					if err := stop(); err != nil {
						t.Error(err)
					}
					got := map[string]uint64{}
					for _, e := range r.Errors {
						got[e.Class] = e.Count
					}
					c := s.Truth().Counts
					slow := got["timeout"] > c.HalfOpen
					if slow && timeout < drivertest.Longest {
						return true
					}
					if c.Requests != requests || r.Counts.OK != c.OK || got["5xx"] != c.Errors || got["reset"] != c.Resets || got["timeout"] != c.HalfOpen || c.HalfOpen == 0 {
						t.Errorf("takt counts %d ok, %v, the target %+v", r.Counts.OK, got, c)
					}
					if again, _ := r.Extra["repeated"].(int64); uint64(again) < c.RefusedStreams {
						t.Errorf("%d requests were sent again, %d streams refused", again, c.RefusedStreams)
					}
					return false
				})
			})
		}
	}
}

package http_test

import (
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
)

// The connections that net/http's client made during a stall do not stay for the rest of
// the run.
func TestNetAfterAStall(t *testing.T) {
	defer http.IdleFor(300 * time.Millisecond)()
	var open, most, last atomic.Int32
	stalled := time.Now().Add(500 * time.Millisecond)
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {
		time.Sleep(time.Until(stalled))
		last.Store(open.Load())
	}))
	s.Config.ConnState = func(_ net.Conn, state nethttp.ConnState) {
		switch state {
		case nethttp.StateNew:
			most.Store(max(most.Load(), open.Add(1)))
		case nethttp.StateClosed:
			open.Add(-1)
		}
	}
	s.Start()
	defer s.Close()
	o := http.New()
	o.Client = "net"
	drivertest.Make(t, drivertest.Plan(t, "http", o, func(e *engine.Options) { e.Rate, e.Duration = engine.MustRate("200"), 1500*time.Millisecond }, s.URL))
	if most.Load() < 20 || last.Load() > most.Load()/2 {
		t.Errorf("%d connections at most, %d at the end", most.Load(), last.Load())
	}
}

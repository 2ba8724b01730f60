package http_test

import (
	"net"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/takt"
)

// serve runs a target until the test ends.
func serve(t *testing.T, o target.Options) (url string) {
	t.Helper()
	return targettest.Serve(t, o).URL()
}

// closedPort is the URL of a port that nobody listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func open(t *testing.T, o *http.Options, url string) *takt.Driver {
	t.Helper()
	if faults := o.Validate([]string{url}); len(faults) > 0 {
		t.Fatal(faults)
	}
	d, err := o.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSuite(t *testing.T) {
	for _, c := range []struct{ client, mode string }{{"own", "loop"}, {"own", "worker"}, {"net", "worker"}, {"h2", "loop"}} {
		client, h2 := c.client, c.client == "h2"
		if h2 {
			client = "own"
		}
		t.Run(c.client+" in mode "+c.mode, func(t *testing.T) {
			drivertest.Run(t, c.mode, func(t *testing.T, behaviour drivertest.Target) *takt.Driver {
				o := http.New()
				o.Client, o.Timeout, o.ConnectTimeout, o.HTTP2 = client, time.Minute, time.Minute, h2
				e := engine.Defaults()
				o.Shape(&e)
				switch behaviour {
				case drivertest.Failing:
					return open(t, o, serve(t, target.Options{Status: 503, H2: h2}))
				case drivertest.Hanging:
					return open(t, o, serve(t, target.Options{HalfOpenRate: 1, H2: h2}))
				case drivertest.Down:
					return open(t, o, closedPort(t))
				}
				return open(t, o, serve(t, target.Options{H2: h2}))
			})
		})
	}
}

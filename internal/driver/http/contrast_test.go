package http_test

import (
	"io"
	"log"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// The closed loop sends the same requests over as many connections, and its figures
// are plausible for a server that takes 20 ms.
func TestContrast(t *testing.T) {
	racetest.Skip(t, "hey's requester has data races of its own")
	e := startEcho(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) { time.Sleep(20 * time.Millisecond) })
	o := options("auto")
	o.ContrastFor, o.Method, o.Body = 2*time.Second, "POST", "n={{.Seq}}"
	shape := engine.Defaults()
	shape.Rate, shape.Connections = engine.MustRate("10/s"), 5
	o.Shape(&shape)
	if faults := o.Validate([]string{e.URL + "/x"}); faults != nil {
		t.Fatal(faults)
	}
	r := takt.Report{Extra: map[string]any{}}
	if err := o.Contrast(t.Context(), &r); err != nil || len(r.Warnings) > 0 {
		t.Fatal(err, r.Warnings)
	}
	got := e.requests()
	c := r.Extra["contrast"].(map[string]any)
	if n := connections(got); n != 5 || c["connections"] != 5 {
		t.Errorf("%d connections, reported as %v, want 5", n, c["connections"])
	}
	if float64(len(got)) != c["requests"] || len(got) < 10 || c["errors"] != 0.0 {
		t.Errorf("the server had %d requests, hey reports %v", len(got), c)
	}
	if p50, max := c["p50_us"].(float64), c["max_us"].(float64); p50 < 20e3 || max < p50 || c["p90_us"].(float64) < p50 {
		t.Errorf("%v", c)
	}
	bodies := map[string]bool{}
	for _, s := range got {
		bodies[s.Body] = true
	}
	if !bodies["n=0"] || !bodies["n=9"] || len(bodies) != len(got) {
		t.Errorf("%d bodies of %d requests", len(bodies), len(got))
	}
}

// What hey reports of failures is told, and no figure made of them.
func TestReadHey(t *testing.T) {
	for _, c := range []struct {
		report string
		errors float64
		max    any
	}{
		{`{"requests":3,"max":0.25}`, 0, 250_000.0},
		{`{"requests":3,"max":0.25,"errors":{"EOF":1,"refused":1}}`, 2, 250_000.0},
		{`{"requests":3,"max":0,"errors":{"EOF":1,"refused":2}}`, 3, nil},
		{`{"requests":0,"max":0}`, 0, nil},
	} {
		r := takt.Report{Extra: map[string]any{}}
		if err := http.NoteHey(&r, c.report); err != nil {
			t.Fatal(err)
		}
		found := r.Extra["contrast"].(map[string]any)
		if found["errors"] != c.errors || found["max_us"] != c.max || (len(r.Warnings) == 1) != (c.errors > 0) {
			t.Errorf("%s: %v, %v", c.report, found, r.Warnings)
		}
	}
}

// What hey cannot do is said before the run.
func TestContrastFaults(t *testing.T) {
	for want, change := range map[string]func(o *http.Options, e *engine.Options){
		"schedule":     func(_ *http.Options, e *engine.Options) { e.Rate = engine.Rate{} },
		"unix sockets": func(o *http.Options, _ *engine.Options) { o.UnixSocket = "/s" },
		"HTTP/2":       func(o *http.Options, _ *engine.Options) { o.HTTP2 = true },
	} {
		o, e := options("auto"), engine.Defaults()
		e.Rate = engine.MustRate("10/s")
		o.ContrastFor = time.Second
		change(o, &e)
		o.Shape(&e)
		if faults := o.Validate([]string{"http://x/"}); len(faults) != 1 || !strings.Contains(faults[0].Error(), "has no "+want) {
			t.Errorf("%v, want %s", faults, want)
		}
	}
}

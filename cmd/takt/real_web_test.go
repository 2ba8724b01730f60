//go:build real

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file run takt http against web servers, over HTTP/1.1 with TLS and over HTTP/2
// with TLS and without. They compare takt's counts with those of the server.

// engineHTTP2 is generator.engine of runs over HTTP/2; "" for any.
const engineHTTP2 = "loop"

// way is how a run reaches a server.
type way struct {
	name, protocol string // protocol is that of the report
	engine         string // generator.engine; "" for any
	port           int    // which of webServer.urls
	args           []string
}

var (
	http1Secure = way{"https1", "http/1.1", "loop", 1, nil}
	http2Secure = way{"h2", "h2", engineHTTP2, 1, []string{"--h2"}}
	http2Plain  = way{"h2c", "h2c", engineHTTP2, 2, []string{"--h2"}}
)

// load is one run, and what must be true of it.
type load struct {
	name      string
	args      []string
	n         uint64 // operations
	path      string
	sent      uint64 // bytes of the body of each request
	received  uint64 // bytes of the body of each answer
	onlyHTTP2 bool
}

func (s *webServer) loads(t *testing.T) []load {
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte(strings.Repeat(pageLine, 2000)[:postBytes]), 0o600); err != nil {
		t.Fatal(err)
	}
	var echo uint64
	if s.posted == echoed {
		echo = postBytes
	}
	whole := "^(" + pageLine + "){282}.{28}$" // 16 KiB
	all := []load{
		{name: "closed", args: []string{"-n", "3000", "-c", "50"}, n: 3000, path: "/", received: 100},
		{name: "open", args: []string{"--rate", "1500/s", "-z", "1s", "-c", "50"}, n: 1500, path: "/", received: 100},
		{name: "connections", args: []string{"-n", "2000", "--h2-connections", "4", "--h2-streams", "10"}, n: 2000, path: "/", received: 100, onlyHTTP2: true},
		// More than the server allows on a connection: 100 or 128 with most of them.
		{name: "streams", args: []string{"-n", "3000", "-c", "300"}, n: 3000, path: "/", received: 100, onlyHTTP2: true},
		{name: "16k", args: []string{"-n", "1000", "-c", "50", "--expect-body", whole}, n: 1000, path: "/16k.txt", received: 16 << 10},
		{name: "256k", args: []string{"-n", "300", "-c", "20", "--expect-body", echoed}, n: 300, path: "/256k.txt", received: 256 << 10},
		{name: "head", args: []string{"-n", "500", "-c", "20", "-m", "HEAD"}, n: 500, path: "/256k.txt"},
		{name: "post", args: []string{"-n", "300", "-c", "20", "-m", "POST", "-D", body, "--expect-body", s.posted}, n: 300, path: "/post", sent: postBytes, received: echo},
	}
	// Only HTTP/2 has a way to stop a body: over HTTP/1.1 a server that has not read it closes the
	// connection, and the answer may be lost. nginx ends a connection after 8 MB that it did not read.
	if s.early {
		all = append(all, load{name: "early", args: []string{"-n", "100", "-c", "20", "-m", "POST", "-D", body}, n: 100, path: "/early", onlyHTTP2: true})
	}
	return all
}

// ways runs every load in every way.
func (s *webServer) ways(t *testing.T) {
	for _, w := range []way{http1Secure, http2Secure, http2Plain} {
		t.Run(w.name, func(t *testing.T) {
			for _, l := range s.loads(t) {
				if l.onlyHTTP2 && w.args == nil {
					continue
				}
				t.Run(l.name, func(t *testing.T) { s.run(t, w, l) })
			}
		})
	}
}

// run runs one load and checks its report.
func (s *webServer) run(t *testing.T, w way, l load) {
	t.Helper()
	before := s.served(t)
	r := takeReport(t, slices.Concat(l.args, w.args, []string{"--cacert", s.ca, s.urls[w.port] + l.path}))
	same(t, r, "200", l.n)
	c := r.Counts
	if c.OK != l.n || c.Sent != l.n || len(r.Errors) > 0 {
		t.Errorf("counts %+v, want %d ok; %+v", c, l.n, r.Errors)
	}
	if got := r.Latency[takt.LatencyResponse].Count; got != l.n {
		t.Errorf("%d response times, want %d", got, l.n)
	}
	if got := r.Variables["protocol"]; got != w.protocol {
		t.Errorf("the protocol is %v, want %s", got, w.protocol)
	}
	if got := r.Generator.Engine; w.engine != "" && got != w.engine {
		t.Errorf("the engine is %s, want %s", got, w.engine)
	}
	s.checkServed(t, before, r)
	if l.path != "/early" {
		checkBytes(t, "sent", r.Bytes.Sent, l.n*l.sent, l.n*(700+l.received/100)) // HTTP/2 grants windows
	}
	checkBytes(t, "received", r.Bytes.Received, l.n*l.received, l.n*(700+l.received/20))
}

// checkServed: what the server served is what was scheduled. What takt sent again may have been
// served twice, but only if the report counts it.
func (s *webServer) checkServed(t *testing.T, before uint64, r *takt.Report) {
	t.Helper()
	want, served := r.Counts.Scheduled, uint64(0)
	again, _ := r.Extra["repeated"].(float64)
	for range 100 { // a server writes its log after the answer
		if served = s.served(t) - before; served >= want {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if served < want || served > want+uint64(again) {
		t.Errorf("the server served %d requests, want %d, and at most %v sent again", served, want, again)
	}
}

// checkBytes: takt counted the bytes of bodies, and more for heads, frames and handshakes.
func checkBytes(t *testing.T, what string, got int64, bodies, more uint64) {
	t.Helper()
	least, most := int64(bodies), int64(bodies+more)+100_000
	if got < least || got > most {
		t.Errorf("%d bytes %s, want %d to %d", got, what, least, most)
	}
}

// nginx refuses what is in flight behind the 1000th request of a connection, and takt sends it
// again over another connection.
func TestRealNginxGoAway(t *testing.T) { startedNginx(t).lastRequests(t, 3, 4) }

// Envoy says so before it refuses anything.
func TestRealEnvoyGoAway(t *testing.T) { startedEnvoy(t).lastRequests(t, 4) }

// lastRequests loads ports where the 1000th request of a connection is the last.
func (s *webServer) lastRequests(t *testing.T, ports ...int) {
	for _, port := range ports {
		w := http2Plain
		if strings.HasPrefix(s.urls[port], "https:") {
			w = http2Secure
		}
		w.port = port
		for _, l := range []load{
			{name: "closed", args: []string{"-n", "6000", "-c", "50"}, n: 6000, path: "/", received: 100},
			{name: "open", args: []string{"--rate", "3000/s", "-z", "2s"}, n: 6000, path: "/", received: 100},
			{name: "connections", args: []string{"-n", "6000", "--h2-connections", "4", "--h2-streams", "25"}, n: 6000, path: "/", received: 100},
			{name: "16k", args: []string{"-n", "3000", "--h2-connections", "2", "--h2-streams", "25"}, n: 3000, path: "/16k.txt", received: 16 << 10},
		} {
			t.Run(w.name+"/"+l.name, func(t *testing.T) { s.run(t, w, l) })
		}
	}
}

package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/bench"
)

// asProgram makes this test binary the example itself.
const asProgram = "TAKT_EXAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// server answers with that status and counts its connections.
func server(t *testing.T, status int) (url string, conns *atomic.Int64) {
	t.Helper()
	conns = new(atomic.Int64)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, conns
}

func run(t *testing.T, url string) *bench.Result {
	t.Helper()
	const concurrency = 8
	client := newClient(concurrency, 10*time.Second)
	r, err := bench.Benchmark{
		Concurrency: concurrency, Throughput: 1000, Duration: 300 * time.Millisecond,
		Handler: bench.ContextFunc(func(ctx context.Context, _ int) error { return get(ctx, client, url) }),
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The client dials once for each request that can be under way, and once more at
// most where the transport dialled ahead for a request that got another connection.
func TestGet(t *testing.T) {
	url, conns := server(t, http.StatusOK)
	if r := run(t, url); r.TotalRequests != 300 || r.Errors != 0 {
		t.Errorf("%d requests, %d errors: %v", r.TotalRequests, r.Errors, r.Report.Errors)
	}
	if n := conns.Load(); n > 16 {
		t.Errorf("%d connections for a concurrency of 8", n)
	}
}

func TestStatusIsChecked(t *testing.T) {
	url, _ := server(t, http.StatusServiceUnavailable)
	r := run(t, url)
	if r.TotalRequests != 300 || r.Errors != 300 || r.Report.Errors[0].Class != "status 503 Service Unavailable" {
		t.Errorf("%d requests, %d errors: %v", r.TotalRequests, r.Errors, r.Report.Errors)
	}
}

// As its users run it, with its flags beside those of the benchmark.
func TestProgram(t *testing.T) {
	url, _ := server(t, http.StatusOK)
	cmd := exec.Command(os.Args[0], "--url", url, "--timeout=10s", "--concurrency=4", "--throughput=500", "--duration=200ms")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "\ntotal requests:  100\nerrors:  0\nomitted requests:  0\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

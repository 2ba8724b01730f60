package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	healthserver "google.golang.org/grpc/health"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

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

// counts are the calls of each connection, as the server saw them.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) count(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if p, ok := peer.FromContext(ctx); ok {
		c.mu.Lock()
		c.of[p.Addr.String()]++
		c.mu.Unlock()
	}
	return next(ctx, req)
}

// serve starts a server with that state of health on a free port.
func serve(t *testing.T, state health.HealthCheckResponse_ServingStatus) (addr string, calls *counts) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls = &counts{of: map[string]int{}}
	s, h := grpc.NewServer(grpc.UnaryInterceptor(calls.count)), healthserver.NewServer()
	h.SetServingStatus("", state)
	health.RegisterHealthServer(s, h)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), calls
}

func run(t *testing.T, addr string) *bench.Result {
	t.Helper()
	c, err := dial(addr, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	r, err := bench.Benchmark{Concurrency: 1, Throughput: 1000, Duration: 300 * time.Millisecond, Handler: c}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// One worker goes through the three channels in turn.
func TestChannelsInTurn(t *testing.T) {
	addr, calls := serve(t, health.HealthCheckResponse_SERVING)
	if r := run(t, addr); r.TotalRequests != 300 || r.Errors != 0 || r.Omitted != 0 {
		t.Errorf("%d requests, %d errors, %d omitted: %v", r.TotalRequests, r.Errors, r.Omitted, r.Report.Errors)
	}
	for from, n := range calls.of {
		if n != 100 {
			t.Errorf("%d calls came from %s, want 100", n, from)
		}
	}
	if len(calls.of) != 3 {
		t.Errorf("%d connections, want 3", len(calls.of))
	}
}

func TestAnswerIsChecked(t *testing.T) {
	addr, _ := serve(t, health.HealthCheckResponse_NOT_SERVING)
	r := run(t, addr)
	if r.Errors != 300 || len(r.Report.Errors) != 1 || r.Report.Errors[0].Class != "the server is NOT_SERVING" {
		t.Errorf("%d errors: %v", r.Errors, r.Report.Errors)
	}
}

func TestNoChannels(t *testing.T) {
	if _, err := dial("127.0.0.1:1", 0); err == nil {
		t.Error("no channels were made")
	}
}

// As its users run it: wrk3's example could not have its flags beside the
// library's.
func TestProgram(t *testing.T) {
	addr, _ := serve(t, health.HealthCheckResponse_SERVING)
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "--host", host, "--port", port, "--c=2", "--concurrency=4", "--throughput=500", "--duration=200ms")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "\ntotal requests:  100\nerrors:  0\nomitted requests:  0\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

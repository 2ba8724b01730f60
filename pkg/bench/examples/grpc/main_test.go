package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	healthserver "google.golang.org/grpc/health"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

	"github.com/taktload/takt/internal/test/exampletest"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
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

func run(t *testing.T, addr string, channels int) *takt.Report {
	t.Helper()
	d, err := open([]string{addr}, channels)
	if err != nil {
		t.Fatal(err)
	}
	s := schedule.Constant(1000, 0)
	s.Limit = 300
	r, err := load.Run(t.Context(), load.Plan{Driver: d, Schedule: s, Workers: 6})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The driver passes takt's suite, against a server in this process.
func TestRealGRPC(t *testing.T) {
	addr, _ := serve(t, health.HealthCheckResponse_SERVING)
	exampletest.Example{
		Name: "gRPC, health check", Where: addr,
		Open: func(args []string) (*takt.Driver, error) { return open(args, 1) },
	}.Test(t)
}

// Workers share the channels.
func TestChannels(t *testing.T) {
	addr, calls := serve(t, health.HealthCheckResponse_SERVING)
	if r := run(t, addr, 3); r.Counts.OK != 300 {
		t.Errorf("%+v: %v", r.Counts, r.Errors)
	}
	if len(calls.of) != 3 {
		t.Errorf("%d connections, want 3: %v", len(calls.of), calls.of)
	}
}

func TestAnswerIsChecked(t *testing.T) {
	addr, _ := serve(t, health.HealthCheckResponse_NOT_SERVING)
	r := run(t, addr, 1)
	if r.Counts.Failed != 300 || len(r.Errors) != 1 || r.Errors[0].Class != "not_serving" {
		t.Errorf("%+v: %v", r.Counts, r.Errors)
	}
}

func TestNoChannels(t *testing.T) {
	if _, err := open([]string{"127.0.0.1:1"}, 0); err == nil {
		t.Error("no channels were made")
	}
}

// As its users run it.
func TestProgram(t *testing.T) {
	addr, _ := serve(t, health.HealthCheckResponse_SERVING)
	cmd := exec.Command(os.Args[0], "--channels=2", "-c", "4", "--rate=500/s", "-n", "100", "--progress=none", "--output", "json=-", addr)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"ok": 100,`) && !strings.Contains(string(out), `"ok":100,`) {
		t.Errorf("%v\n%s", err, out)
	}
}

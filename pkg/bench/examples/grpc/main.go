// Command grpc benchmarks a gRPC server with unary calls over several channels:
//
//	go run . --host localhost --port 50051 --c 4 --concurrency 20 --throughput 10000
//
// The call is the health check, which most servers offer; put your own in the
// place of check. It is a module of its own, so that takt does not depend on gRPC.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/taktload/takt/pkg/bench"
)

func main() {
	host := flag.String("host", "localhost", "of the server")
	port := flag.Int("port", 50051, "of the server")
	n := flag.Int("c", 1, "number of channels")
	bench.DefineBenchmarkFlags()
	flag.Parse()
	c, err := dial(net.JoinHostPort(*host, strconv.Itoa(*port)), *n)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer c.close()
	bench.BenchmarkCmd(c)
}

// channels are connections to one server. A connection carries many calls at once;
// with one alone its lock and its TCP window can be the limit.
type channels []*grpc.ClientConn

// dial makes n channels. They connect with their first call.
func dial(addr string, n int) (channels, error) {
	if n < 1 {
		return nil, fmt.Errorf("%d channels cannot carry a call; give at least 1", n)
	}
	var all channels
	for range n {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, conn)
	}
	return all, nil
}

func (c channels) close() {
	for _, conn := range c {
		_ = conn.Close() // the run is over
	}
}

// ExecuteRequest implements bench.RequestHandler.
func (c channels) ExecuteRequest(localIndex int) error {
	return c.ExecuteRequestContext(context.Background(), localIndex)
}

// ExecuteRequestContext implements bench.ContextHandler. Each worker takes the
// channels in turn.
func (c channels) ExecuteRequestContext(ctx context.Context, localIndex int) error {
	return check(ctx, c[localIndex%len(c)])
}

// check is one call.
func check(ctx context.Context, conn *grpc.ClientConn) error {
	answer, err := health.NewHealthClient(conn).Check(ctx, &health.HealthCheckRequest{})
	if err != nil {
		return err
	}
	if answer.Status != health.HealthCheckResponse_SERVING {
		return fmt.Errorf("the server is %v", answer.Status)
	}
	return nil
}

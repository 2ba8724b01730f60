// Command grpc loads a gRPC server with unary calls over several channels:
//
//	go build -o grpc . && takt ./grpc --rate 20k/s -z 10s -c 20 --channels 4 127.0.0.1:50051
//
// The call is the health check, which most servers offer; put your own in its place.
package main

import (
	"context"
	"errors"
	"flag"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/taktload/takt/pkg/bench"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

func main() {
	channels := flag.Int("channels", 1, "connections, which the workers share in turn")
	bench.Main(func(args []string) (*takt.Driver, error) { return open(args, *channels) })
}

func open(args []string, channels int) (*takt.Driver, error) {
	if len(args) != 1 || channels < 1 {
		return nil, bench.Usage(errors.New("give the address of the server, such as 127.0.0.1:50051, and at least 1 of --channels"))
	}
	all := make([]*grpc.ClientConn, channels) // a channel carries many calls; alone, its lock can be the limit
	for i := range all {
		c, err := grpc.NewClient(args[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		all[i] = c
	}
	d := load.Workers(func(worker int) (load.Func, func() error, error) {
		client := health.NewHealthClient(all[worker%channels])
		return func(ctx context.Context, _ *takt.Op, _ *takt.Result) error {
			answer, err := client.Check(ctx, &health.HealthCheckRequest{})
			if err == nil && answer.Status != health.HealthCheckResponse_SERVING {
				return load.Failed(strings.ToLower(answer.Status.String()), errors.New("the server is "+answer.Status.String()))
			}
			return load.Failed(strings.ToLower(status.Code(err).String()), err)
		}, nil, nil
	})
	d.Close = func() (err error) {
		for _, c := range all {
			err = errors.Join(err, c.Close())
		}
		return err
	}
	return d, nil
}

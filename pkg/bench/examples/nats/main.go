// Command nats loads a NATS server with requests, which a subscriber in this process answers:
//
//	go build -o nats . && takt ./nats --rate 20k/s -z 10s -c 20 nats://127.0.0.1:4222
package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/taktload/takt/pkg/bench"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

func main() {
	subject := flag.String("subject", "", "ask the subscribers of this subject, instead of one in this process")
	size := flag.Int("size", 100, "bytes of a request")
	timeout := flag.Duration("timeout", time.Second, "of a request")
	bench.Main(func(args []string) (*takt.Driver, error) { return open(args, *subject, *size, *timeout) })
}

func open(args []string, subject string, size int, timeout time.Duration) (*takt.Driver, error) {
	if len(args) != 1 {
		return nil, bench.Usage(errors.New("give the URL of the server, such as nats://127.0.0.1:4222"))
	}
	body := make([]byte, size)
	return load.Workers(func(int) (load.Func, func() error, error) {
		c, err := nats.Connect(args[0], nats.NoReconnect()) // takt opens the worker again
		if err != nil {
			return nil, nil, err
		}
		to := subject
		if to == "" {
			to = nats.NewInbox()
			if _, err := c.Subscribe(to, func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
				c.Close()
				return nil, nil, err
			}
		}
		return func(ctx context.Context, _ *takt.Op, r *takt.Result) error {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			answer, err := c.RequestWithContext(ctx, to, body)
			switch {
			case errors.Is(err, nats.ErrNoResponders):
				return load.Failed("no_responders", err)
			case errors.Is(err, context.DeadlineExceeded): // a late answer has another number
				return load.Failed(load.Timeout, errors.New("no answer within "+timeout.String()))
			case err != nil:
				return load.Lost(err)
			}
			r.BytesSent, r.BytesReceived = int64(size), int64(len(answer.Data))
			return nil
		}, func() error { c.Close(); return nil }, nil
	}), nil
}

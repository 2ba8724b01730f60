package load_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// A function at a constant rate, with an assertion.
func ExampleRun() {
	do := func(ctx context.Context, op *takt.Op, r *takt.Result) error { return nil }
	report, err := load.Run(context.Background(), load.Plan{
		Name:     "noop",
		Driver:   load.Handler(do),
		Schedule: schedule.Constant(1000, 200*time.Millisecond),
		Assert:   []string{"errors<1%"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Counts.OK, "operations;", report.Assertions[0].Expression, "is judged")
	// Output: 200 operations; errors<1% is judged
}

// Each worker has a connection of its own, and ends it.
func ExampleWorkers() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	go echo(server)

	d := load.Workers(func(worker int) (load.Func, func() error, error) {
		c, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			return nil, nil, err
		}
		buffer := make([]byte, 4)
		do := func(ctx context.Context, op *takt.Op, r *takt.Result) error {
			sent, err := c.Write([]byte("ping"))
			if err != nil {
				return err
			}
			received, err := c.Read(buffer)
			r.BytesSent, r.BytesReceived = int64(sent), int64(received)
			return err
		}
		return do, c.Close, nil
	})
	ramp := schedule.Ramp(100, 900, 200*time.Millisecond)
	report, err := load.Run(context.Background(), load.Plan{Driver: d, Schedule: ramp, Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Counts.OK, "operations,", report.Bytes.Received, "bytes received")
	// Output: 100 operations, 400 bytes received
}

func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			b := make([]byte, 4)
			for {
				n, err := c.Read(b)
				if err != nil {
					return
				}
				if _, err := c.Write(b[:n]); err != nil {
					return
				}
			}
		}()
	}
}

// The report counts failures by their classes.
func ExampleFailed() {
	do := func(ctx context.Context, op *takt.Op, r *takt.Result) error {
		switch {
		case op.Seq%10 == 0:
			r.Status = 503
			return load.Failed("5xx", fmt.Errorf("status %d", r.Status))
		case op.Seq%25 == 1:
			return errors.New("no class")
		}
		r.Status = 200
		return nil
	}
	report, err := load.Run(context.Background(), load.Plan{Driver: load.Handler(do), Schedule: schedule.Constant(1000, 100*time.Millisecond)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range report.Errors {
		fmt.Println(e.Count, e.Class, "-", e.Sample)
	}
	// Output:
	// 10 5xx - status 503
	// 4 error - no class
}

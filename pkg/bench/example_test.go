package bench_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/taktload/takt/pkg/bench"
)

func Example() {
	r, err := bench.Benchmark{
		Concurrency: 5,
		Throughput:  1000,
		Duration:    100 * time.Millisecond,
		Handler:     bench.RequestFunc(func(localIndex int) error { return nil }),
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("total requests: ", r.TotalRequests)
	fmt.Println("errors: ", r.Errors)
	fmt.Println("omitted requests: ", r.Omitted)
	// Output:
	// total requests:  100
	// errors:  0
	// omitted requests:  0
}

// A whole program: ./bench --concurrency=20 --throughput=10000 --duration=20s
func ExampleBenchmarkCmd() {
	bench.BenchmarkCmd(bench.RequestFunc(func(localIndex int) error {
		return nil // one request
	}))
}

// Flags of the program beside those of the benchmark.
func ExampleDefineBenchmarkFlags() {
	name := flag.String("file", "/etc/hostname", "the file to read")
	bench.DefineBenchmarkFlags()
	flag.Parse()
	bench.BenchmarkCmd(bench.RequestFunc(func(int) error {
		_, err := os.ReadFile(*name)
		return err
	}))
}

// counter is a handler with state of its own.
type counter struct{ names []string }

func (c counter) ExecuteRequest(localIndex int) error {
	_ = c.names[localIndex%len(c.names)] // each worker goes through all of them
	return nil
}

func ExampleRequestHandler() {
	bench.BenchmarkCmd(counter{names: []string{"a", "b", "c"}})
}

// The context ends when the run no longer waits for the request.
func ExampleContextFunc() {
	r, err := bench.Benchmark{
		Concurrency: 1,
		Throughput:  10,
		Duration:    100 * time.Millisecond,
		Drain:       50 * time.Millisecond,
		Handler: bench.ContextFunc(func(ctx context.Context, _ int) error {
			<-ctx.Done() // a target that never answers
			return ctx.Err()
		}),
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.TotalRequests, "ended,", r.Omitted, "omitted")
	// Output: 0 ended, 1 omitted
}

// A program that decides by itself what the figures mean.
func ExampleBenchmark_Run() {
	r, err := bench.Benchmark{
		Name:        "noop",
		Concurrency: 1,
		Throughput:  0, // a closed loop: as fast as possible
		Duration:    10 * time.Millisecond,
		Handler:     bench.RequestFunc(func(int) error { return nil }),
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	response := r.Report.Latency["response"]
	fmt.Println(r.Report.Kind, r.Report.Schedule.Profile, response.Count == r.TotalRequests)
	// Output: bench closed true
}

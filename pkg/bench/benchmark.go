package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// The defaults of the flags.
const (
	DefaultConcurrency = 10
	DefaultThroughput  = 10_000 // requests per second
	DefaultDuration    = 20 * time.Second
	DefaultDrain       = 20 * time.Second
)

// MaxConcurrency limits Benchmark.Concurrency: a million workers take 3.3 GB.
const MaxConcurrency = 1_000_000

// Benchmark describes one run.
type Benchmark struct {
	Name        string         // name of the thing measured, for the report; "": the program's path
	Handler     RequestHandler // called for each request; a ContextHandler receives its context
	Concurrency int            // largest number of concurrent calls; all workers are ready from the start
	Throughput  float64        // requests per second, all workers together; 0 or +Inf: a closed loop, as fast as possible
	Duration    time.Duration  // length of the measured load
	Warmup      time.Duration  // additional load before Duration, which is not counted
	Drain       time.Duration  // time limit for requests that are in flight or due at the end; 0: DefaultDrain, negative: none

	// Tune lets the run raise GOMAXPROCS by one, for the goroutine that keeps time, and
	// restore it afterwards. BenchmarkCmd always tunes. Without Tune Run leaves the process
	// alone. The garbage collector's settings never change.
	Tune bool

	waiter func(start time.Time) pace.Waiter // for tests under fake time; nil: the precise waiter
}

// Validate reports all faults of b at once.
func (b Benchmark) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(b.Handler == nil, "there is no handler; set Benchmark.Handler")
	fault(b.Concurrency < 1, "concurrency is %d; give at least 1", b.Concurrency)
	fault(b.Concurrency > MaxConcurrency, "concurrency is %d; give at most %d", b.Concurrency, MaxConcurrency)
	fault(math.IsNaN(b.Throughput) || b.Throughput < 0, "throughput is %v; give requests per second above 0, or 0 for as fast as possible", b.Throughput)
	fault(!b.closed() && b.Throughput > schedule.MaxRate, "throughput is %v; give at most %v a second, one a nanosecond", b.Throughput, schedule.MaxRate)
	fault(b.Throughput > 0 && b.Throughput < schedule.MinRate, "throughput is %v, less than one request in 32 years; give more, or 0 for as fast as possible", b.Throughput)
	fault(b.Duration <= 0, "duration is %v; give a time above 0", b.Duration)
	fault(b.Warmup < 0, "warm-up is %v; give a time above 0, or 0 for none", b.Warmup)
	fault(b.Duration >= math.MaxInt64-max(0, b.Warmup), "warm-up and duration together reach 292 years; shorten them")
	return errors.Join(faults...)
}

// closed reports whether b is a closed loop.
func (b Benchmark) closed() bool { return b.Throughput == 0 || math.IsInf(b.Throughput, 1) }

// Run runs b and returns its result. When ctx ends, the run stops sending, drains requests in
// flight and still returns its result. An error means that the run could not start.
//
// Run uses neither signals nor flags nor standard output. A handler that never returns costs
// a goroutine, not the result.
func (b Benchmark) Run(ctx context.Context) (*Result, error) { return b.run(ctx, nil) }

// run is Run with abort, which ends the run at once.
func (b Benchmark) run(ctx context.Context, abort <-chan struct{}) (*Result, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	if b.waiter != nil {
		ctx = pace.In(ctx, b.waiter)
	}
	p := load.Plan{
		Driver: driver(b.Handler), Schedule: b.schedule(), Name: b.Name, Workers: b.Concurrency, Drain: b.Drain,
		Abort: abort, Tune: b.Tune, Words: takt.Words{GiveRate: "give a throughput"},
	}
	report, err := load.Run(ctx, p)
	if err != nil {
		return nil, err
	}
	b.complete(report)
	return b.result(report), nil
}

// schedule is a constant rate, or a closed loop.
func (b Benchmark) schedule() schedule.Spec {
	s := load.Closed(b.Duration)
	if !b.closed() {
		s = schedule.Constant(b.Throughput, b.Duration)
	}
	s.Warmup, s.Seed = b.Warmup, 1
	return s
}

func (b Benchmark) drain() time.Duration {
	if b.Drain == 0 {
		return DefaultDrain
	}
	return max(0, b.Drain)
}

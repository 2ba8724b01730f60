package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/taktload/takt/internal/cli/calibratecmd"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// The run against this machine's clock: a server with a service time of 1 ms, which freezes for
// the last 300 ms.
const (
	clockRate        = 500
	clockTime        = 3 * time.Second
	clockConnections = 50
	clockFreeze      = "300ms/3s"
	clockTries       = 3
	// clockOff is the allowed relative deviation of a percentile from the theory, in addition to
	// the lateness of plain sleeps.
	clockOff = 0.02
	// clockNoise is the lateness of plain sleeps (p99) above which a deviation proves nothing.
	clockNoise = 2 * time.Millisecond
)

// clock compares percentiles with the theory, on this machine's clock. It returns true as soon
// as one of three tries agrees. After the third it returns false, unless plain sleeps were too
// late in that try to judge it.
func (s *selftest) clock(ctx context.Context) (good bool, err error) {
	fmt.Fprintf(s.env.Stdout, "clock        %d/s for %v over %d connections, at a server that takes 1 ms and freezes for 300 ms\n", clockRate, clockTime, clockConnections)
	for try := 1; ; try++ {
		var late time.Duration
		good, late, err = s.tryClock(ctx)
		switch {
		case good || err != nil || ctx.Err() != nil:
			return good, err
		case late > clockNoise:
			fmt.Fprintf(s.env.Stdout, "             not judged: plain sleeps ended %v late during the run\n", late.Round(10*time.Microsecond))
			if try == clockTries {
				return true, nil
			}
		case try == clockTries:
			return false, nil
		}
	}
}

func (s *selftest) tryClock(ctx context.Context) (good bool, late time.Duration, err error) {
	dir, err := os.MkdirTemp("", "takt-selftest")
	if err != nil {
		return false, 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "truth.json")
	server, err := calibratecmd.StartServer(s.env, "--service", "1ms", "--freeze", clockFreeze, "--truth", file)
	if err != nil {
		return false, 0, err
	}
	sleeps := make(chan calibratecmd.SleepNoise, 1)
	undo := oneMoreP()
	go func() { sleeps <- calibratecmd.MeasureSleep(ctx, clockTime) }()
	r, err := calibratecmd.LoadHTTP(ctx, server.URL, s.env.Abort, func(o *engine.Options) {
		o.Rate, o.Duration, o.Connections = engine.PerSecond(clockRate), clockTime, clockConnections
	})
	server.End()
	late = time.Duration((<-sleeps).P99 * 1e3)
	undo()
	if err != nil || ctx.Err() != nil {
		return false, late, err
	}
	theory, err := theoryOf(file)
	if err != nil {
		return false, late, err
	}
	return s.compare(r, theory, late), late, nil
}

// theoryOf computes the response times of a queue with clockConnections connections, from the
// service times, the freezes and the lateness that the server recorded.
func theoryOf(file string) (*hist.Histogram, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the server did not write its record of the run: %w", err)
	}
	var truth target.Truth
	if err := json.Unmarshal(b, &truth); err != nil {
		return nil, fmt.Errorf("the server's record of the run cannot be read: %w", err)
	}
	h := hist.New()
	for _, d := range truth.Theory(clockConnections, time.Second/clockRate) {
		h.Record(d)
	}
	return h, nil
}

func (s *selftest) compare(r *takt.Report, theory *hist.Histogram, late time.Duration) (good bool) {
	got := r.Latency[takt.LatencyResponse]
	good = got.Count == theory.Count() && r.Counts.OK == r.Counts.Scheduled && r.Verdict == takt.Valid
	fmt.Fprintf(s.env.Stdout, "             response      takt    theory\n")
	for _, p := range []struct {
		name string
		us   float64
		q    float64
	}{{"p95", got.P95, 0.95}, {"p99", got.P99, 0.99}, {"p99.9", got.P99_9, 0.999}, {"max", got.Max, 1}} {
		want := hist.Micros(theory.Quantile(p.q))
		off := p.us/want - 1
		fmt.Fprintf(s.env.Stdout, "             %-8s %9.4g %9.4g ms  %+.2f %%\n", p.name, p.us/1e3, want/1e3, 100*off)
		good = good && math.Abs(off) <= clockOff+hist.Micros(late)/want
	}
	fmt.Fprintf(s.env.Stdout, "             %d of %d requests answered, the server counted %d; %s run, %s engine; plain sleeps %.2f ms late (p99)\n",
		r.Counts.OK, r.Counts.Scheduled, theory.Count(), r.Verdict, r.Generator.Engine, late.Seconds()*1e3)
	return good
}

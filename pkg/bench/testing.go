package bench

import (
	"context"
	"errors"
	"flag"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// B runs d in a Go benchmark, for go test -bench, and reports what a mean cannot show. rate is in
// operations per second of all workers together:
//
//	func BenchmarkGet(b *testing.B) {
//		for _, rate := range []float64{0, 2000} {
//			b.Run(fmt.Sprintf("rate=%v", rate), func(b *testing.B) {
//				bench.B(b, load.Handler(get), rate, 20)
//			})
//		}
//	}
//
// At a rate, b.N operations are due evenly spaced, and latencies count from the instant at which an
// operation was due. With rate 0 or +Inf the workers are a closed loop of b.N operations.
//
// benchstat compares the metrics by their units. Less is better: p50-ns/op and p99-ns/op are response
// times (in a closed loop service times), service-p99-ns/op is without the wait for a worker,
// lag-p99-ns/op is how late takt itself was, and failed/op is the share of failed operations. More is
// better: ok/s is the rate of successes. At a rate, ns/op is
// only the distance of two operations, so B replaces it by 0, which go test does not print. Percentiles
// of less than 100 operations are left out, except for the median.
//
// B fails the benchmark if the run cannot start, or if no operation succeeded. An invalid run is
// logged with its reasons, not failed: a busy machine is not a fault of the program. go test makes
// several runs to find b.N; B judges only the last one, whose figures go test prints.
func B(b *testing.B, d *takt.Driver, rate float64, workers int) {
	b.Helper()
	closed := rate == 0 || math.IsInf(rate, 1)
	s := schedule.Constant(rate, 0)
	if closed {
		s = load.Closed(0)
	}
	s.Limit, s.Seed = uint64(b.N), 1
	b.ResetTimer()
	began := time.Now()
	r, err := load.Run(context.Background(), load.Plan{Driver: d, Schedule: s, Name: b.Name(), Workers: workers})
	took := time.Since(began)
	b.StopTimer()
	if err != nil {
		b.Fatalf("the run could not start: %v", err)
	}
	measure(b, r, closed, took)
	if last(b) {
		judge(b, r)
	}
}

// last reports whether the run that has ended is the one whose figures go test prints. The runs before
// it only find b.N.
func last(b *testing.B) bool {
	f := flag.Lookup("test.benchtime")
	if f == nil {
		return true
	}
	if text, count := strings.CutSuffix(f.Value.String(), "x"); count {
		return text == strconv.Itoa(b.N)
	}
	d, err := time.ParseDuration(f.Value.String())
	return err != nil || b.Elapsed() >= d || b.N >= mostN
}

const (
	mostN     = 1e9 // go test does not raise b.N beyond it
	leastTail = 100 // operations; the p99 of fewer is only their slowest
)

// reporter is what measure needs of testing.B.
type reporter interface {
	ReportMetric(n float64, unit string)
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Helper()
}

func measure(b reporter, r *takt.Report, closed bool, took time.Duration) {
	b.Helper()
	response := r.Latency[takt.LatencyResponse]
	if closed {
		response = r.Latency[takt.LatencyService]
	}
	if r.Latency[takt.LatencyResponse].Count == 0 {
		response = r.Latency[takt.LatencySend] // nobody answers
	}
	ns := func(us float64, unit string) { b.ReportMetric(us*1e3, unit) }
	ns(response.P50, "p50-ns/op")
	tail := r.Counts.Scheduled >= leastTail
	if tail {
		ns(response.P99, "p99-ns/op")
	}
	if tail && !closed {
		ns(r.Latency[takt.LatencyService].P99, "service-p99-ns/op")
		ns(r.Latency[takt.LatencyScheduleLag].P99, "lag-p99-ns/op")
	}
	if !closed {
		b.ReportMetric(0, "ns/op")
	}
	b.ReportMetric(float64(r.Counts.OK)/took.Seconds(), "ok/s")
	b.ReportMetric(float64(r.Counts.Failed+r.Counts.Unfinished)/float64(max(1, r.Counts.Scheduled)), "failed/op")
}

// judge fails or doubts the figures of the last run.
func judge(b reporter, r *takt.Report) {
	b.Helper()
	if r.Counts.Scheduled > 0 && r.Counts.OK == 0 {
		b.Errorf("not one operation succeeded: %v", firstFailure(r))
	}
	if r.Verdict == takt.Invalid {
		var why []string
		for _, w := range r.Warnings {
			why = append(why, w.Message+" ["+string(w.Code)+"]")
		}
		b.Logf("INVALID RUN: the generator, not the target, shaped these figures: %s", strings.Join(why, "; "))
	}
}

func firstFailure(r *takt.Report) error {
	if len(r.Errors) == 0 {
		return errors.New("none ended")
	}
	if r.Errors[0].Sample != "" {
		return errors.New(r.Errors[0].Sample)
	}
	return errors.New(r.Errors[0].Class)
}

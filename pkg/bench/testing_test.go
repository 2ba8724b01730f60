package bench_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/bench"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

func handler(err error) func() *takt.Driver {
	return func() *takt.Driver {
		return load.Handler(func(context.Context, *takt.Op, *takt.Result) error { time.Sleep(100 * time.Microsecond); return err })
	}
}

// benchtime lets benchmarks of the test perform 100 operations.
func benchtime(t *testing.T) {
	f := flag.Lookup("test.benchtime")
	before := f.Value.String()
	if err := f.Value.Set("100x"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) }) // it was valid
}

// The metrics of a Go benchmark, at a rate and in a closed loop.
func TestB(t *testing.T) {
	benchtime(t)
	for _, c := range []struct {
		rate float64
		want []string
	}{
		{5000, []string{"failed/op", "lag-p99-ns/op", "ns/op", "ok/s", "p50-ns/op", "p99-ns/op", "service-p99-ns/op"}},
		{0, []string{"failed/op", "ok/s", "p50-ns/op", "p99-ns/op"}},
	} {
		r := testing.Benchmark(func(b *testing.B) {
			bench.B(b, handler(nil)(), c.rate, 2)
		})
		var names []string
		for name, v := range r.Extra {
			names = append(names, name)
			if bad := v <= 0 && name != "failed/op" && name != "ns/op" && name != "lag-p99-ns/op"; bad {
				t.Errorf("%s is %v", name, v)
			}
		}
		slices.Sort(names)
		if fmt.Sprint(names) != fmt.Sprint(c.want) || r.Extra["p50-ns/op"] < 100_000 {
			t.Errorf("rate %v: %v", c.rate, r.Extra)
		}
		if line := r.String(); !strings.Contains(line, "p99-ns/op") || c.rate > 0 && strings.Contains(line, " 0 ns/op") {
			t.Errorf("the line is %s", line)
		}
	}
}

// inBenchmark makes this test binary one with the benchmarks below.
const inBenchmark = "TAKT_BENCH_TESTING"

// BenchmarkAtLimit is invalid in each run of more than ten operations.
func BenchmarkAtLimit(b *testing.B) {
	if os.Getenv(inBenchmark) == "" {
		b.Skip("only for TestBJudgesTheLastRun")
	}
	bench.B(b, load.Handler(func(_ context.Context, op *takt.Op, _ *takt.Result) error {
		if op.Seq%2 == 0 {
			return os.NewSyscallError("socket", syscall.EMFILE)
		}
		return nil
	}), 0, 1)
}

// BenchmarkFails has no success.
func BenchmarkFails(b *testing.B) {
	if os.Getenv(inBenchmark) == "" {
		b.Skip("only for TestBJudgesTheLastRun")
	}
	bench.B(b, handler(errors.New("no"))(), 0, 1) // a closed loop pauses after failures, up to 128 ms
}

// BenchmarkLateStart fails with its first operation, as a server may that begins to work then.
func BenchmarkLateStart(b *testing.B) {
	if os.Getenv(inBenchmark) == "" {
		b.Skip("only for TestBJudgesTheLastRun")
	}
	bench.B(b, load.Handler(func(_ context.Context, op *takt.Op, _ *takt.Result) error {
		if op.Seq == 0 {
			return errors.New("not yet")
		}
		time.Sleep(time.Millisecond)
		return nil
	}), 0, 1)
}

// go test makes several runs, and B says only of the last one that it is invalid.
func TestBJudgesTheLastRun(t *testing.T) {
	for _, c := range []struct {
		name, benchtime string
		want            string
		invalid         int
		p99             bool
	}{
		{"AtLimit", "300x", "\nPASS\n", 1, true},
		{"AtLimit", "1x", "FAIL", 0, false}, // its only operation fails
		{"Fails", "8x", "not one operation succeeded: no\n", 0, false},
		{"LateStart", "200x", "\nPASS\n", 0, true},
		{"LateStart", "20x", "\nPASS\n", 0, false},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^Benchmark"+c.name+"$", "-test.benchtime="+c.benchtime)
		cmd.Env = append(os.Environ(), inBenchmark+"=1")
		out, _ := cmd.CombinedOutput() // the exit code says what the text says
		text := string(out)
		if strings.Count(text, "INVALID RUN") != c.invalid || !strings.Contains(text, c.want) || strings.Contains(text, "p99-ns/op") != c.p99 {
			t.Errorf("%s for %s: want %q, %d times that it is invalid, and a p99: %v\n%s", c.name, c.benchtime, c.want, c.invalid, c.p99, text)
		}
	}
}

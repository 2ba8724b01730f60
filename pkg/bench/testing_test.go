package bench_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
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

// A benchmark without a success has failed.
func TestBThatFails(t *testing.T) {
	benchtime(t)
	r := testing.Benchmark(func(b *testing.B) { bench.B(b, handler(errors.New("no"))(), 1000, 1) })
	if r.N != 0 {
		t.Errorf("a benchmark without a success passed: %v", r)
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/sim"
	"github.com/taktload/takt/internal/value"
)

// selftest is one run of takt selftest.
type selftest struct {
	env   core.Env
	seeds uint64
	seed  uint64 // the only seed to simulate; 0: all
}

func newSelftest(env core.Env) *cobra.Command {
	s := &selftest{env: env, seeds: 300}
	c := &cobra.Command{
		Use:   "selftest [flags]",
		Short: "prove takt's figures on this machine: in a simulator, and against a server that freezes",
		Long: `takt selftest runs this binary's load engine in a simulator: a seed decides the
network, the clocks, the threads and their faults. takt compares every operation,
percentile and verdict with what really happened in the simulation. Then it sends
load to a server on this machine that freezes, and compares the percentiles with
queueing theory. Exit code 1: takt selftest found a fault.`,
		Example: `  takt selftest
  takt selftest --seeds 10000
  takt selftest --seed 4711`,
	}
	core.AddFlags(c, func(fs *pflag.FlagSet) {
		value.Declare(fs, value.GroupMeasurement, func(fs *pflag.FlagSet) {
			fs.Uint64Var(&s.seeds, "seeds", s.seeds, "simulate `N` seeds; 0: none")
			fs.Uint64Var(&s.seed, "seed", 0, "simulate only seed `N`, and show what it does")
		})
	})
	c.Args = core.NoArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) }
	return c
}

// errFault is the error of a selftest that found a fault.
var errFault = errors.New("selftest found a fault in takt; please report it, with this output and takt version --json")

func (s *selftest) run(ctx context.Context) error {
	good, err := s.simulate(ctx)
	if s.seed == 0 && err == nil {
		var judged bool
		judged, err = s.clock(ctx)
		good = good && judged
	}
	switch signal := core.SignalOf(ctx); {
	case signal != nil:
		return core.ExitBy(signal, errors.New("stopped before the end, so the test proves nothing"))
	case err != nil:
		return err
	case !good:
		return errFault
	}
	fmt.Fprintln(s.env.Stdout, "PASS")
	return nil
}

// simulate runs the seeds on all cores. good: no seed found a fault.
func (s *selftest) simulate(ctx context.Context) (good bool, err error) {
	switch {
	case s.seeds == 0 && s.seed == 0:
		return true, nil
	case !sim.Available:
		fmt.Fprintf(s.env.Stdout, "simulator    skipped: it needs Linux\n")
		return true, nil
	case s.seed > 0:
		o := sim.Run(s.seed)
		fmt.Fprintln(s.env.Stdout, o)
		s.shrunk(o)
		return len(o.Faults) == 0, nil
	}
	begun := time.Now()
	var next atomic.Uint64
	var mu sync.Mutex
	var sum sim.Sum
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := next.Add(1); seed <= s.seeds && ctx.Err() == nil; seed = next.Add(1) {
				o := sim.Run(seed)
				mu.Lock()
				sum.Add(o)
				if len(o.Faults) > 0 && sum.Failed <= 3 {
					fmt.Fprintln(s.env.Stdout, o)
					s.shrunk(o)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	s.summary(&sum, time.Since(begun))
	return sum.Failed == 0, nil
}

// shrunk prints the simplest scenario that still has the fault.
func (s *selftest) shrunk(o *sim.Outcome) {
	if len(o.Faults) > 0 {
		fmt.Fprintf(s.env.Stdout, "at its simplest\n%v\n", sim.Shrink(o))
	}
}

func (s *selftest) summary(sum *sim.Sum, took time.Duration) {
	fmt.Fprintf(s.env.Stdout, "simulator    %d seeds, %d failed: %d operations, %d system calls, %d faults injected, in %v\n",
		sum.Seeds, sum.Failed, sum.Operations, sum.Calls, sum.Faults(), took.Round(100*time.Millisecond))
	kinds := make([]string, 0, len(sum.Injected))
	for _, kind := range slices.Sorted(maps.Keys(sum.Injected)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, sum.Injected[kind]))
	}
	for len(kinds) > 0 {
		n := 1
		for n < len(kinds) && len(strings.Join(kinds[:n+1], ", ")) < 66 {
			n++
		}
		fmt.Fprintf(s.env.Stdout, "             %s\n", strings.Join(kinds[:n], ", "))
		kinds = kinds[n:]
	}
}

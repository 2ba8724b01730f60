// Command mutants checks whether the tests would notice a fault. It changes one place of the code at
// a time, such as < to <=, and runs the tests of that package. A mutant survives if they pass. Run
// it from the root of the repository:
//
//	go run ./scripts/mutants -packages pkg/hist,internal/verdict
//	go run ./scripts/mutants -n 100 -seed 7
//
// It does not change the source files: go test builds with -overlay. One test binary contains all
// mutants of functions, so a mutant takes as long as the tests: 20 ms in a small package and up to a
// minute in internal/engine, so -n limits the number of mutants.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	s := &settings{}
	packages := flag.String("packages", "", "mutate only these `FOLDERS`, separated by commas (default: all of targets.go)")
	flag.StringVar(&s.only, "only", "", "mutate only functions whose `file:function` contains this text, such as hist.go:Histogram.Record")
	flag.StringVar(&s.again, "again", "", "try only the survivors that this `file` with an earlier output names, whatever their lines now")
	flag.IntVar(&s.n, "n", 0, "draw `N` mutants (default: all)")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the draw; the same seed draws the same mutants from the same code")
	flag.Float64Var(&s.least, "least", 95, "fail when the tests kill less than this `PERCENT`")
	flag.StringVar(&s.equivalent, "equivalent", "scripts/mutants/equivalent.txt", "`file` with the mutants that change nothing")
	flag.BoolVar(&s.quick, "quick", false, "leave out tests that take more than some seconds, so that more mutants survive")
	flag.BoolVar(&s.list, "list", false, "print the mutants and run no test")
	flag.Parse()
	if *packages != "" {
		s.packages = strings.Split(*packages, ",")
	}
	if err := bound(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants: cannot limit the memory of tests:", err)
		os.Exit(2)
	}
	enough, err := s.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if !enough {
		os.Exit(1)
	}
}

type settings struct {
	packages   []string
	only       string
	again      string
	n          int
	seed       uint64
	least      float64
	equivalent string
	quick      bool
	list       bool
}

// run reports whether the tests killed enough mutants.
func (s *settings) run() (enough bool, err error) {
	chosen, err := choose(s.packages)
	if err != nil {
		return false, err
	}
	harmless, err := readEquivalent(s.equivalent)
	if err != nil {
		return false, err
	}
	all, err := s.mutants(chosen, harmless)
	if err != nil {
		return false, err
	}
	if s.list {
		for _, m := range all {
			fmt.Println(m.key())
			fmt.Println()
		}
		return true, nil
	}
	return s.judge(all, harmless)
}

// mutants returns the mutants to test, in the order of packages, files and lines.
func (s *settings) mutants(chosen []target, harmless *equivalents) ([]*mutant, error) {
	again, err := readAgain(s.again)
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for _, t := range chosen {
		if s.quick {
			t.guards = slices.DeleteFunc(t.guards, func(g guard) bool { return g.slow })
		}
		found, err := t.mutants()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.folder, err)
		}
		if err := harmless.check(t, found); err != nil {
			return nil, err
		}
		for _, m := range found {
			if strings.Contains(m.file+":"+m.function, s.only) && (again == nil || again[withoutLine(m.String())]) {
				all = append(all, m)
			}
		}
	}
	return draw(all, s.n, s.seed), nil
}

// readAgain returns the survivors of an earlier output, without their lines; nil: no file is given.
func readAgain(file string) (map[string]bool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	again := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		again[withoutLine(strings.TrimSuffix(line, "\n"))] = true
	}
	return again, nil
}

var lineNumber = regexp.MustCompile(`^([^:]*):\d+,`)

func withoutLine(survivor string) string { return lineNumber.ReplaceAllString(survivor, "$1") }

// judge runs the tests for each mutant and prints the survivors and the table. After a signal it
// prints the table so far.
func (s *settings) judge(all []*mutant, harmless *equivalents) (enough bool, err error) {
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, began, sum := runner{ctx: ctx, dir: work}, time.Now(), newTally()
	for i, m := range all {
		if i == 0 || all[i-1].target != m.target {
			if err := r.prepare(all[i:], harmless); err != nil {
				return false, err
			}
		}
		fate := equivalent
		if !harmless.has(m) {
			if fate, err = r.try(m); err != nil {
				fmt.Print("\n", sum)
				return false, fmt.Errorf("ended after %d of %d mutants: %w", i, len(all), err)
			}
		}
		sum.add(m, fate)
		if fate == survived {
			fmt.Println(m)
		}
		if (i+1)%50 == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d mutants in %v\n", i+1, len(all), time.Since(began).Round(time.Second))
		}
	}
	fmt.Print("\n", sum)
	if share := sum.share(); share < s.least {
		fmt.Printf("\nFAILED: the tests kill %.1f %% of the mutants, less than %g %%: add a test for each survivor, or its reason to %s if it changes nothing\n", share, s.least, s.equivalent)
		return false, nil
	}
	return true, nil
}

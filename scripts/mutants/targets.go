package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// target is a package to mutate, with the tests that must notice its mutants.
type target struct {
	folder string
	files  []string // patterns of file names; none: all files
	guards []guard  // run in this order, the fastest first
}

// guard is one run of a test binary. A mutant is killed when one of the guards fails.
type guard struct {
	folder string
	args   []string
	env    []string
	slow   bool // takes more than some seconds, so -quick leaves it out
}

// testsOf is a guard that runs the tests of one package.
func testsOf(folder string, args ...string) guard { return guard{folder: folder, args: args} }

// slowly marks a guard as slow.
func (g guard) slowly() guard { g.slow = true; return g }

// simulated runs the engine and the record in so many simulated worlds. 40 seeds take 2 s of CPU time.
func simulated(seeds string) guard {
	return guard{folder: "internal/sim", args: []string{"-test.run", "^TestSeeds$|^TestPauseEnds$"}, env: []string{"TAKT_SEEDS=" + seeds}}
}

// targets lists the packages to mutate. To add a package, add a row.
func targets() []target {
	const schedule, hist, verdict, http1, serve, record, judge, engine = "pkg/schedule", "pkg/hist", "internal/verdict", "internal/http1", "internal/http2/serve", "internal/record", "internal/judge", "internal/engine"
	const (
		power       = "FalseAlarms|FindsTails|Forecast|PowerTable|PowerOfGroups|Coverage|Futility$" // tests that repeat whole series of runs
		simulations = "FalseAlarms|SmallLevels|FalseBesideTrue|Power|Intervals|Needed"              // of judge/history
		flow        = "Flow|Claim|CountRest|Signals"
		lives       = "TestModes|ClockStep|LoopSt|LoopsLend|LoopsShare|Speaks|Silent|CutBeside|TestErrors|OneConnection|RecoverAny" // tests in real time
		loss        = "^TestRetransmits$"                                                                                           // needs a network that loses packets
	)
	return []target{
		{folder: schedule, guards: []guard{testsOf(schedule)}},
		{folder: hist, guards: []guard{testsOf(hist)}},
		{folder: verdict, guards: []guard{testsOf(verdict), testsOf(record, "-test.run", "Verdict|Judge|Held|Drop|Late")}},
		{folder: http1, guards: []guard{testsOf(http1)}},
		{folder: serve, guards: []guard{testsOf(serve)}},
		{folder: record, guards: []guard{testsOf(record), simulated("200").slowly()}},
		{folder: judge + "/stats", guards: []guard{testsOf(judge + "/stats"), testsOf(judge+"/verify", "-test.skip", power)}},
		{folder: judge + "/assert", guards: []guard{testsOf(judge + "/assert")}},
		{folder: judge + "/merge", guards: []guard{testsOf(judge + "/merge")}},
		{folder: judge + "/verify", guards: []guard{testsOf(judge+"/verify", "-test.skip", power), testsOf(judge+"/verify", "-test.run", power).slowly()}},
		{folder: judge + "/history", guards: []guard{testsOf(judge+"/history", "-test.skip", simulations), testsOf(judge+"/history", "-test.run", simulations).slowly()}},
		{folder: engine, files: []string{"flow.go", "claim.go", "pool.go", "loop_*.go"}, guards: []guard{
			testsOf(engine, "-test.run", flow), testsOf(engine, "-test.skip", flow+"|"+lives+"|"+loss), simulated("40"),
			simulated("200").slowly(), testsOf(engine, "-test.run", lives).slowly(),
		}},
	}
}

// choose returns the targets with these folders, or all.
func choose(names []string) ([]target, error) {
	all := targets()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []target
	for _, name := range names {
		i := slices.IndexFunc(all, func(t target) bool { return t.folder == strings.TrimPrefix(path.Clean(name), "./") })
		if i < 0 {
			return nil, fmt.Errorf("-packages %q: not one of %s; add a row to scripts/mutants/targets.go", name, folders(all))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func folders(all []target) string {
	var names []string
	for _, t := range all {
		names = append(names, t.folder)
	}
	return strings.Join(names, ", ")
}

// has reports whether the file of that name is mutated.
func (t target) has(name string) bool {
	return len(t.files) == 0 || slices.ContainsFunc(t.files, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

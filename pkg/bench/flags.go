package bench

import (
	"flag"
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/pkg/schedule"
)

// settings are what the flags say. They live in the flag set that they were
// defined on, so that the package needs no variable.
type settings struct {
	Benchmark
	outputs format.Outputs
}

// DefineBenchmarkFlags defines the flags of BenchmarkCmd on the standard flag set,
// flag.CommandLine. A program that has flags of its own calls it before its
// flag.Parse(); calling it again changes nothing.
//
// The flags set the benchmark that is returned: after flag.Parse() a program can
// read the concurrency there, to size a pool by it.
//
// Of --warmup, --drain and --output, which wrk3 does not have, those are left out
// whose names the program has taken already. It must take them before this call:
// package flag refuses a second flag of one name.
func DefineBenchmarkFlags() *Benchmark { return &define(flag.CommandLine).Benchmark }

// nameOfFirst is the flag by which define knows a flag set again.
const nameOfFirst = "concurrency"

// define defines the flags on fs unless they are there already.
func define(fs *flag.FlagSet) *settings {
	if f := fs.Lookup(nameOfFirst); f != nil {
		if o, ok := f.Value.(*owned); ok {
			return o.settings
		}
	}
	s := &settings{Benchmark: Benchmark{
		Concurrency: DefaultConcurrency, Throughput: DefaultThroughput, Duration: DefaultDuration, Drain: DefaultDrain,
	}}
	add := func(v flag.Value, name, usage string) { fs.Var(&owned{v, s}, name, usage) }
	extra := func(v flag.Value, name, usage string) {
		if fs.Lookup(name) == nil {
			add(v, name, usage)
		}
	}
	add((*count)(&s.Concurrency), nameOfFirst, "`N` requests under way at once, at most")
	add((*rate)(&s.Throughput), "throughput", "`N` requests per second in all; 0 or max: as fast as possible, a closed loop")
	add((*schedule.DurationValue)(&s.Duration), "duration", "`TIME` of the load, such as 30s or 1m30s; a bare number means seconds")
	extra((*schedule.DurationValue)(&s.Warmup), "warmup", "`TIME` of load before --duration that is in no figure")
	extra((*drain)(&s.Drain), "drain", "`TIME` that requests which are open or due may still take after the end")
	extra(&s.outputs, "output", "also write the report as `FORMAT=PATH`; repeatable; PATH - is stdout; FORMAT is "+strings.Join(format.WholeNames(), ", "))
	return s
}

// owned is a flag that knows which settings it belongs to.
type owned struct {
	flag.Value
	settings *settings
}

// String implements flag.Value; package flag also asks a zero value.
func (o *owned) String() string {
	if o.Value == nil {
		return ""
	}
	return o.Value.String()
}

// Get implements flag.Getter.
func (o *owned) Get() any {
	if g, ok := o.Value.(flag.Getter); ok {
		return g.Get()
	}
	return o.String()
}

// isOurs reports whether define made f.
func isOurs(f *flag.Flag) bool {
	if f == nil {
		return false
	}
	_, ours := f.Value.(*owned)
	return ours
}

// stray finds an argument that nobody reads, and with it the flags behind it. Those of
// a program that has parsed the flags are its own, but no flag of ours is one.
func stray(fs *flag.FlagSet, theirs bool) error {
	if fs.NArg() > 0 && !theirs {
		return fmt.Errorf("unexpected argument %q; settings are written --name=value, as -h lists them", fs.Arg(0))
	}
	for _, arg := range fs.Args() {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && isOurs(fs.Lookup(name)) {
			return fmt.Errorf("%s comes after the argument %q, where no flag is read; put it before", arg, fs.Arg(0))
		}
	}
	return nil
}

// given lists the flags of fs that were given and that define made: those of the
// program may hold secrets.
func given(fs *flag.FlagSet) (words []string) {
	fs.Visit(func(f *flag.Flag) {
		if isOurs(f) {
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return words
}

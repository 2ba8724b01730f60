package assert

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// Flags are --assert and --prove.
type Flags struct {
	Texts []string
	Prove bool
}

// Add adds the flags.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.Var(value.List(&f.Texts), "assert", "exit code 3 unless `CONDITION` is true: p99<250ms, or several as p99<250ms,errors<0.1%,rate>=99%; repeatable")
	fs.BoolVar(&f.Prove, "prove", false, "exit code 5 unless the run proves what --assert says of percentiles and shares, with 95 % confidence; for one of them p99<250ms@95%")
}

// Read reads the assertions. typed: --prove is on the command line, where it is a mistake if nothing can be proven; in
// the environment and in a config file it serves other commands, too.
func (f *Flags) Read(typed bool) (list []Assertion, faults []error) {
	for _, text := range f.Texts {
		all, bad := ParseAssertions(text)
		list = append(list, all...)
		for _, err := range bad {
			faults = append(faults, value.Bad("assert", text, err))
		}
	}
	if f.Prove {
		requireProof(list)
	}
	if f.Prove && typed && len(faults) == 0 && !slices.ContainsFunc(list, Assertion.Provable) {
		faults = append(faults, value.Faultf("--prove: no assertion is about a percentile or a share, so there is nothing to prove; add one, such as --assert 'p99<250ms'"))
	}
	return list, faults
}

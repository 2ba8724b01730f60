package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// requirements are what the user requires of a report: --assert and --strict.
type requirements struct {
	texts  []string
	strict bool

	assertions []assert.Assertion
}

func (d *requirements) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.List(&d.texts), "assert", "exit code 3 unless `CONDITION` is true: p99<250ms, or several as p99<250ms,errors<0.1%,rate>=99%; repeatable")
	fs.BoolVar(&d.strict, "strict", false, "exit code 6 if the run is invalid, also without --assert")
}

func (d *requirements) validate() (faults []error) {
	d.assertions = nil
	for _, text := range d.texts {
		all, bad := assert.ParseAssertions(text)
		d.assertions = append(d.assertions, all...)
		for _, err := range bad {
			faults = append(faults, value.Bad("assert", text, err))
		}
	}
	return faults
}

// judge writes the results into the report. Call it before the outputs are written, which
// contain the results.
func (d *requirements) judge(r *takt.Report) { assert.Judge(r, d.assertions) }

// show prints a line for each assertion of a judged report.
func (d *requirements) show(env Env, r *takt.Report) {
	for _, a := range r.Assertions {
		fmt.Fprintln(env.Stderr, a)
	}
}

// asked reports whether an invalid run is a failure.
func (d *requirements) asked() bool { return d.strict || len(d.assertions) > 0 }

// outcome maps a judged report to its exit code. asked: an invalid run is a failure for another
// reason than --assert or --strict.
func (d *requirements) outcome(r *takt.Report, asked bool) error {
	switch {
	case r.Counts.Scheduled > 0 && r.Counts.OK == 0:
		return exitWith(exitFailed, errors.New("not one operation succeeded"+firstSample(r)))
	case len(d.assertions) > 0 && r.Verdict == takt.Invalid:
		return exitWith(exitInvalid, errors.New("the run is invalid, so the assertions prove nothing; see its warnings"))
	case (d.strict || asked) && r.Verdict == takt.Invalid:
		return exitWith(exitInvalid, errors.New("the run is invalid, so it proves nothing; see its warnings"))
	case failedAssertion(r):
		return exitWith(exitAssertion, nil)
	}
	return nil
}

func failedAssertion(r *takt.Report) bool {
	return slices.ContainsFunc(r.Assertions, func(a takt.Assertion) bool { return a.Result == takt.Fail })
}

func firstSample(r *takt.Report) string {
	if len(r.Errors) == 0 || r.Errors[0].Sample == "" {
		return ""
	}
	return ": " + r.Errors[0].Sample
}

package core

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/claims"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Requirements are what the user requires of a report: --assert and --strict.
type Requirements struct {
	asked  assert.Flags
	Strict bool

	Assertions []assert.Assertion
}

// AddFlags adds --assert and --strict.
func (d *Requirements) AddFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupAssertions, d.addFlags, "assert")
}

func (d *Requirements) addFlags(fs *pflag.FlagSet) {
	d.asked.Add(fs)
	fs.BoolVar(&d.Strict, "strict", false, "exit code 6 if the run is invalid, also without --assert, or if the broker counted other messages than the run")
}

// Validate reads the assertions.
func (d *Requirements) Validate(env Env) (faults []error) {
	d.Assertions, faults = d.asked.Read(env.Typed("prove"))
	return faults
}

// Judge writes the results into the report, and what it supports. Call it before the outputs are written, which
// contain the results.
func (d *Requirements) Judge(r *takt.Report) {
	claims.Judge(r, d.Assertions)
}

// Show prints a line for each assertion of a judged report.
func (d *Requirements) Show(env Env, r *takt.Report) {
	for _, a := range r.Assertions {
		fmt.Fprintln(env.Stderr, a)
	}
}

// Outcome maps a judged report to its exit code. asked: an invalid run is a failure for another
// reason than --assert or --strict.
func (d *Requirements) Outcome(r *takt.Report, asked bool) error {
	switch {
	case r.Counts.Scheduled > 0 && r.Counts.OK == 0:
		return ExitWith(ExitFailed, errors.New("not one operation succeeded"+FirstSample(r)))
	case (d.Strict || asked) && r.Verdict == takt.Invalid:
		return ExitWith(ExitInvalid, errors.New("the run is invalid, so it proves nothing; see its warnings"))
	case d.Strict && !r.Ledger.Balanced():
		return ExitWith(ExitInvalid, errors.New("the broker's count of the messages is not the run's; see its warnings"))
	}
	switch assert.Outcome(r) {
	case takt.Fail:
		return ExitWith(ExitAssertion, nil)
	case takt.Void:
		return ExitWith(ExitInvalid, errors.New(assert.VoidWords(r)))
	case takt.Unproven:
		return ExitWith(ExitInconclusive, errors.New(assert.UnprovenWords))
	}
	return nil
}

// FirstSample returns ": " and an example of the first error of a report; "": there is none.
func FirstSample(r *takt.Report) string {
	if len(r.Errors) == 0 || r.Errors[0].Sample == "" {
		return ""
	}
	return ": " + r.Errors[0].Sample
}

package cli

import (
	"errors"
	"fmt"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/pkg/takt"
)

// judgement is --assert and --strict of a command that has a report already.
type judgement struct {
	asserts    list
	strict     bool
	assertions []analysis.Assertion
}

func (j *judgement) addFlags(fs *goFlagSet) {
	fs.Var(&j.asserts, "assert", "`CONDITION` such as p99<250ms, errors<0.1%, rate>=99%; repeatable; exit code 3 if it does not hold")
	fs.BoolVar(&j.strict, "strict", false, "exit code 6 if the run is invalid, also without --assert")
}

func (j *judgement) validate() (faults []error) {
	j.assertions = nil
	for _, text := range j.asserts {
		a, err := analysis.ParseAssertion(text)
		faults = appendError(faults, err)
		j.assertions = append(j.assertions, a)
	}
	return faults
}

// asked reports whether an invalid run is a failure.
func (j *judgement) asked() bool { return j.strict || len(j.assertions) > 0 }

// outcome shows each assertion with its value, and is the error of the exit code, as of a
// run. Without --assert and --strict nothing is judged.
func (j *judgement) outcome(env Env, r *takt.Report) error {
	passed := true
	for _, a := range j.assertions {
		o := a.Check(r)
		passed = passed && o.Passed
		fmt.Fprintln(env.Stderr, o)
	}
	switch {
	case r.Counts.Scheduled > 0 && r.Counts.OK == 0:
		return &exitError{exitFailed, errors.New("not one operation succeeded" + firstSample(r))}
	case j.asked() && r.Verdict == takt.Invalid:
		return &exitError{exitInvalid, errors.New("the run is invalid, so it proves nothing; see its warnings")}
	case !passed:
		return &exitError{code: exitAssertion}
	}
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/analysis"
)

// choose decides how two targets are compared when neither --pairs nor --duet says it: a duet
// where both can be up at once and the command has a schedule to deal, else pairs of runs.
func (v *verify) choose(command []string) {
	if v.series.pairs != "" || v.duet.on || len(command) == 0 || len(v.base) != 1 || len(v.head) != 1 || !isTarget(v.base[0]) || !isTarget(v.head[0]) {
		return
	}
	if why := v.noDuet(command); why != "" {
		v.series.pairs = pairsAuto
		v.chosen = "runs of base and head in turn (--pairs auto), since " + why + "; --duet sends load to both at once"
		return
	}
	v.duet.on = true
	v.chosen = "a duet: both targets are up, so both get the load in turn within one run; --pairs auto compares whole runs instead"
}

// isTarget reports whether a side is a target, and no stored run. The server of sessions holds
// targets to its list by the same rule.
func isTarget(side string) bool { return strings.Contains(side, "://") }

// noDuet says why a duet cannot compare the sides under this command; "": it can.
func (v *verify) noDuet(command []string) string {
	for _, name := range []string{"max-pairs", "max-disturbed"} {
		if v.env.typed(name) {
			return "--" + name + " is given"
		}
	}
	if v.base[0] == v.head[0] {
		return "both sides are the same target"
	}
	for _, name := range []string{"repeat", "shard", "start-at", "contrast"} {
		if setsFlag(command, name) {
			return "--" + name + " stands behind --"
		}
	}
	if !setsFlag(command, "rate") && !setsFlag(command, "stages") && command[0] != "replay" {
		return "the command has no --rate, and so no schedule that both could share"
	}
	if err := v.options.CheckDuet(analysis.BlockLeast, time.Hour, command[0]); err != nil { // of the metrics: other faults are for the user to mend
		return oneLine(err)
	}
	return ""
}

// announce says which way was chosen, and how to choose the other.
func (v *verify) announce() {
	if v.chosen != "" {
		fmt.Fprintln(v.env.Stderr, "verify: "+v.chosen)
	}
}

// playDuet plays the duet. If it was not asked for, and its first round shows that the command
// does not suit a duet, pairs of runs are made instead.
func (v *verify) playDuet(ctx context.Context, command []string) (analysis.Judgement, error) {
	lift := slices.Clone(v.options.Lift)
	j, err := v.duet.run(ctx, v, command)
	var unsuited *unsuitedError
	if v.chosen == "" || !errors.As(err, &unsuited) {
		return j, err
	}
	v.options.Lift, v.duet.on, v.series.pairs = lift, false, pairsAuto
	fmt.Fprintf(v.env.Stderr, "verify: no duet: %s; runs of base and head in turn instead (--pairs auto)\n", oneLine(unsuited.err))
	if faults := v.series.validate(v, command); len(faults) > 0 {
		return j, &exitError{exitUsage, errors.Join(faults...)}
	}
	return v.series.run(ctx, v, command)
}

// unsuitedError is of a command that a duet cannot play, but pairs of runs can.
type unsuitedError struct{ err error }

func (e *unsuitedError) Error() string { return e.err.Error() }
func (e *unsuitedError) Unwrap() error { return e.err }

// unsuited makes err a fault of the command line, which it is when the duet was asked for.
func unsuited(err error) error { return &exitError{exitUsage, &unsuitedError{err}} }
